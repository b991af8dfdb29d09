"""A real pseudo-terminal around a program: orders come as JSON lines, what the terminal shows goes out as it is."""

import json
import os
import pty
import select
import sys
import time

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])

orders = b""
open_orders = True


def relay():
    """False once the program has closed its terminal."""
    try:
        data = os.read(terminal, 65536)
    except OSError:
        return False
    if not data:
        return False
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return True


def carry_out(order):
    """A hand types letter by letter; a paste is one write."""
    time.sleep(order.get("after", 0))
    if "paste" in order:
        os.write(terminal, order["paste"].encode())
        return
    for letter in order["type"]:
        os.write(terminal, letter.encode())
        time.sleep(order.get("pause", 0.05))


while True:
    sources = [terminal] + ([sys.stdin.fileno()] if open_orders else [])
    ready, _, _ = select.select(sources, [], [])
    if terminal in ready and not relay():
        break
    if open_orders and sys.stdin.fileno() in ready:
        data = os.read(sys.stdin.fileno(), 65536)
        open_orders = bool(data)
        orders += data
        *lines, orders = orders.split(b"\n")
        for line in lines:
            carry_out(json.loads(line))

_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
