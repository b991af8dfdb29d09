"""A listener nobody at Earshot wrote the transport of: Debian's grpcio and Google's protobuf, which reads our .proto.

Usage: listener.py ADDRESS TOKEN DESCRIPTORS. Asks for a subscription, hears a session, answers its questions, changes
its terms, and says goodbye; then prints, as JSON, what it heard and how the stream ended.
"""
import json
import queue
import sys
from datetime import datetime, timezone

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool

try:
    from google.protobuf.message_factory import GetMessageClass
except ImportError:  # before protobuf 4.22
    from google.protobuf.message_factory import MessageFactory

    GetMessageClass = MessageFactory().GetPrototype

address, token, descriptors = sys.argv[1:4]
files = descriptor_pb2.FileDescriptorSet()
with open(descriptors, "rb") as file:
    files.ParseFromString(file.read())
pool = descriptor_pool.DescriptorPool()
for one in files.file:
    pool.Add(one)
AaepMessage, Manifest, GetManifestRequest = (
    GetMessageClass(pool.FindMessageTypeByName("aaep.v1." + name))
    for name in ("AaepMessage", "Manifest", "GetManifestRequest")
)

channel = grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)])
manifest = json.loads(
    channel.unary_unary(
        "/aaep.v1.AaepService/GetManifest",
        request_serializer=GetManifestRequest.SerializeToString,
        response_deserializer=Manifest.FromString,
    )(GetManifestRequest(), timeout=20).json
)

said = queue.Queue()


def say(message):
    said.put(AaepMessage(json=json.dumps(message).encode(), message_type=message["type"]))


call = channel.stream_stream(
    "/aaep.v1.AaepService/Subscribe",
    request_serializer=AaepMessage.SerializeToString,
    response_deserializer=AaepMessage.FromString,
)(iter(said.get, None), metadata=[("authorization", "Bearer " + token)], timeout=3600)

say(
    {
        "type": "subscription.request",
        "aaep_version": "1.0.0",
        "subscriber_id": "python-grpcio",
        "capabilities": {"supports_confirmation_reply": True, "supports_clarification_reply": True},
    }
)
heard, hints_agree, subscription_id, renegotiated = [], True, None, None
try:
    for message in call:
        event = json.loads(message.json)
        hints_agree = hints_agree and message.message_type == event["type"]
        heard.append(event["type"])
        reply = {
            "subscription_id": subscription_id,
            "reply_token": event.get("reply_token"),
            "timestamp": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
        }
        if event["type"] == "subscription.accepted":
            if subscription_id is None:
                subscription_id = event["subscription_id"]
                say({"type": "subscription.renegotiate", "subscription_id": subscription_id, "capabilities": {"max_events_per_second": 4}})
            else:
                renegotiated = event["honored_capabilities"].get("max_events_per_second")
                print("ready", flush=True)
        elif event["type"] == "aaep:agent.awaiting.confirmation":
            say({"type": "confirmation.reply", "decision": "accept", **reply})
        elif event["type"] == "aaep:agent.awaiting.clarification":
            say({"type": "clarification.reply", "response": "Savings", **reply})
        elif event["type"] == "aaep:agent.session.completed":
            say({"type": "subscription.close", "subscription_id": subscription_id, "reason_code": "subscriber_shutdown"})
except grpc.RpcError:
    pass  # The status says it.
print(
    json.dumps(
        {
            "agent": manifest["agent_id"],
            "heard": heard,
            "hints_agree": hints_agree,
            "renegotiated": renegotiated,
            "status": call.code().name,
            "trailers": dict(call.trailing_metadata()),
        }
    )
)
said.put(None)
channel.close()
