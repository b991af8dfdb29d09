"""A whole session over SSE and over WebSocket with Debian's aiohttp: subscribe, listen, answer, hear the outcome.

Usage: client.py sse|websocket http://127.0.0.1:PORT TOKEN. Prints each event's type, then "done".
"""
import asyncio
import datetime
import json
import sys

import aiohttp

REQUEST = {
    "type": "subscription.request",
    "aaep_version": "1.0.0",
    "subscriber_id": "python",
    "capabilities": {"supports_confirmation_reply": True},
}


def reply_to(question, subscription_id):
    return {
        "type": "confirmation.reply",
        "reply_token": question["reply_token"],
        "decision": "accept",
        "subscription_id": subscription_id,
        "timestamp": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def heard(event):
    print(event["type"], event.get("chunk", ""), flush=True)
    return event["type"] == "aaep:agent.session.completed"


async def over_sse(http, base):
    async with http.post(f"{base}/aaep/v1/subscriptions", json=REQUEST) as response:
        assert response.status == 201, response.status
        accepted = await response.json()
        location = response.headers["Location"]
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
    async with http.get(f"{base}{location}", headers=headers) as stream:
        assert stream.status == 200, stream.status
        print("listening", flush=True)
        data = []
        async for line in stream.content:
            line = line.decode("utf-8").rstrip("\n")
            if line.startswith("data: "):
                data.append(line[6:])
            if line or not data:
                continue
            event, data = json.loads("\n".join(data)), []
            if heard(event):
                return
            if event["type"] == "aaep:agent.awaiting.confirmation":
                reply = reply_to(event, accepted["subscription_id"])
                async with http.post(f"{base}/aaep/v1/replies", json=reply) as response:
                    assert response.status == 204, response.status


async def over_websocket(http, base):
    async with http.ws_connect(f"{base}/aaep/v1/ws", protocols=["aaep.v1"]) as socket:
        assert socket.protocol == "aaep.v1", socket.protocol
        await socket.send_json(REQUEST)
        accepted = await socket.receive_json()
        assert accepted["type"] == "subscription.accepted", accepted
        print("listening", flush=True)
        async for message in socket:
            event = json.loads(message.data)
            if heard(event):
                return
            if event["type"] == "aaep:agent.awaiting.confirmation":
                await socket.send_json(reply_to(event, accepted["subscription_id"]))


async def main(transport, base, token):
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http:
        await (over_sse if transport == "sse" else over_websocket)(http, base)
    print("done", flush=True)


asyncio.run(main(*sys.argv[1:]))
