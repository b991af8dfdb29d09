#!/usr/bin/env python3
"""Hears an agent over its Unix socket and lets a person answer it. Uses only Python's standard library.

    listener.py                     the first agent that is running for you
    listener.py /path/to/agent.sock this one
    listener.py --lines ...         one JSON object per line instead of a length prefix
    listener.py --stay ...          keeps listening after the first session has ended

docs/wire.md describes the protocol. For tests, EARSHOT_ANSWER=yes or no answers instead of a person.
"""
import datetime
import json
import os
import socket
import struct
import sys

MOST_BYTES = 1_048_576  # no message is larger


def directory():
    """Where agents' sockets are, on this platform (docs/wire.md)."""
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/AAEP")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(runtime, "aaep") if runtime else "/tmp/aaep-%d" % os.getuid()


def discover():
    """The first socket that accepts a connection."""
    place = directory()
    # Trust only a private directory: in others, somebody could plant a socket and ask questions in an agent's name.
    status = os.lstat(place) if os.path.isdir(place) and not os.path.islink(place) else None
    if status and status.st_uid == os.getuid() and not status.st_mode & 0o077:
        for name in sorted(os.listdir(place)):
            path = os.path.join(place, name)
            if not name.endswith(".sock"):
                continue
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(path)
                return path
            except OSError:
                continue
    sys.exit("No agent is running for you. Start one, or give its socket.")


class Connection:
    """Messages over a stream, with a length prefix or one per line. The agent uses the same framing."""

    def __init__(self, path, lines):
        self.lines = lines
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def send(self, message):
        data = json.dumps(message, separators=(",", ":")).encode("utf-8")
        self.socket.sendall(data + b"\n" if self.lines else struct.pack(">I", len(data)) + data)

    def receive(self):
        """The next message, or None at the end."""
        if self.lines:
            data = self.file.readline(MOST_BYTES + 2)
            return json.loads(data) if data else None
        header = self.file.read(4)
        if len(header) < 4:
            return None
        (length,) = struct.unpack(">I", header)
        if length > MOST_BYTES:
            sys.exit("The agent announced a message that is larger than allowed.")
        data = self.file.read(length)
        return json.loads(data) if len(data) == length else None


def now():
    moment = datetime.datetime.now(datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (moment.microsecond // 1000)


def say(*words):
    print(*words, flush=True)


def ask(prompt):
    """A person's answer; None at the end of input."""
    given = os.environ.get("EARSHOT_ANSWER")
    if given is not None:
        say(prompt, given)
        return given
    try:
        return input(prompt + " ")
    except EOFError:
        return None


def confirm(event):
    say("Question:", event["action"])
    say("  ", event["consequence"])
    # Read back the values: a person approves these, not the prose.
    for item in event.get("extra_context", {}).get("params", []):
        say("   %s: %s" % (item["label"], item["value"]))
    answer = ask("Yes or no?")
    # Silence and unclear answers count as a no.
    decision = "accept" if (answer or "").strip().lower() in ("y", "yes") else "reject"
    return {"type": "confirmation.reply", "decision": decision}


def clarify(event):
    say("Question:", event["question"])
    for choice in event.get("choices", []):
        say("   %s: %s" % (choice["value"], choice["label"]))
    answer = ask("Your answer?")
    return {"type": "clarification.reply", "response": answer} if answer else None


def hear(connection, subscription, stay):
    seen = set()
    while True:
        event = connection.receive()
        if event is None:
            return "The agent has disconnected."
        kind = event.get("type", "")
        if kind == "subscription.close":
            return event.get("reason_message") or event["reason_code"]
        # Deduplicate: an agent may send an event again after a reconnect.
        if not kind.startswith("aaep:agent.") or event["event_id"] in seen:
            continue
        seen.add(event["event_id"])
        reply = None
        if kind == "aaep:agent.output.streaming":
            say(event["chunk"].strip())
        elif kind == "aaep:agent.awaiting.confirmation":
            reply = confirm(event)
        elif kind == "aaep:agent.awaiting.clarification":
            reply = clarify(event)
        elif event.get("summary_normal"):
            say(event["summary_normal"])
        if reply:
            connection.send({**reply, "reply_token": event["reply_token"], "subscription_id": subscription, "timestamp": now()})
        ended = kind.rsplit(".", 1)[-1] in ("completed", "errored", "cancelled") and ".session." in kind
        if ended and not stay:
            connection.send({"type": "subscription.close", "subscription_id": subscription, "reason_code": "subscriber_shutdown"})
            return "The session is over."


def main(arguments):
    paths = [one for one in arguments if not one.startswith("--")]
    connection = Connection(paths[0] if paths else discover(), "--lines" in arguments)
    connection.send(
        {
            "type": "subscription.request",
            "aaep_version": "1.0.0",
            "subscriber_id": "org.example.python-listener",
            "subscriber_name": "Python listener",
            "capabilities": {
                "supports_confirmation_reply": True,
                "supports_clarification_reply": True,
                "supported_conformance_levels": [1, 2, 3],
            },
        }
    )
    answer = connection.receive()
    if answer is None or answer["type"] != "subscription.accepted":
        sys.exit("Rejected: %s" % (answer or {}).get("reason_message", "the agent closed the connection."))
    say("Listening to %s." % answer["producer"].get("agent_name", answer["producer"]["agent_id"]))
    say(hear(connection, answer["subscription_id"], "--stay" in arguments))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        pass
