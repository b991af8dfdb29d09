/** The messages of Earshot's own extension (docs/extension.md). All are optional. */
import { closed, id, label, list, type Schema } from "./shapes.ts";

const SUBSCRIPTION_ID = id("sub", "The subscription.");

const message = (
  title: string,
  type: string,
  properties: Record<string, Schema>,
  required: readonly string[],
  description: string,
): [string, Schema] => [
  type,
  {
    title,
    ...closed(
      { type: { const: type }, subscription_id: SUBSCRIPTION_ID, ...properties },
      ["type", "subscription_id", ...required],
      description,
    ),
  },
];

const closing: [string, Schema] = [
  "earshot:closing",
  {
    title: "Closing",
    ...closed(
      {
        type: { const: "earshot:closing" },
        reason_code: { type: "string", pattern: "^[a-z][a-z0-9_]{1,63}$", description: "Why, as a code." },
        reason_message: label(4096, "Why, in words.", 0),
        reconnect: { type: "boolean", description: "Whether reconnecting makes sense." },
      },
      ["type", "reason_code", "reconnect"],
      "The connection, not the subscription, is about to be closed.",
    ),
  },
];

export const extensionMessages: Record<string, Schema> = Object.fromEntries([
  closing,
  message(
    "MoreTime",
    "earshot:more_time",
    { reply_token: id("rpl", "The open question's token.") },
    ["reply_token"],
    "A person needs longer to answer; one message, one extension (WCAG 2.2.1).",
  ),
  message(
    "WhatIsHappening",
    "earshot:status",
    { session_id: id("sess", "Only this session.") },
    [],
    "Where do things stand, and what was missed?",
  ),
  message(
    "CancelSession",
    "earshot:cancel",
    { session_id: id("sess", "The session to stop."), reason: label(4096, "Why, in the person's words.") },
    ["session_id"],
    "A person wants a session stopped (CON-50).",
  ),
  message(
    "FollowSessions",
    "earshot:follow",
    {
      sessions: list(
        id("sess", "A session."),
        { max: 64, unique: true },
        "Receive only these sessions; an empty list means all.",
      ),
    },
    ["sessions"],
    "Receive only some sessions.",
  ),
]);
