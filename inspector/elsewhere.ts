/** Another agent, through the program that serves this page: the page itself may call nobody else. */
import type { Capabilities, SubscriptionAccepted } from "../src/protocol/index.ts";
import type { Board } from "./board.ts";
import { messageOf } from "./credential.ts";
import { readMessage } from "./heard.ts";
import type { ListenerKind } from "./listeners.ts";
import { keepPumping, type Source } from "./source.ts";

export interface Elsewhere {
  readonly address: string;
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Told =
  | { readonly kind: "accepted"; readonly value: SubscriptionAccepted }
  /** As it came there. */
  | { readonly kind: "message"; readonly value: string }
  | { readonly kind: "line"; readonly value: { readonly state: string; readonly message: string } }
  | { readonly kind: "closed"; readonly value: string };

/** Messages of one line: `data: ` and a line of JSON each, as our own server writes them. */
async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<Told> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop()!;
    for (const part of parts) if (part.startsWith("data: ")) yield JSON.parse(part.slice(6)) as Told;
  }
}

export async function openElsewhere(
  board: Board,
  { address, token, headers }: Elsewhere,
  kinds: readonly ListenerKind[],
): Promise<{ readonly source: Source; readonly agent: string }> {
  const aborts: AbortController[] = [];

  /** Gives what was agreed on; what comes after that goes to the board. */
  const open = async (index: number, capabilities: Capabilities): Promise<SubscriptionAccepted> => {
    aborts[index]?.abort();
    const abort = new AbortController();
    aborts[index] = abort;
    const answer = await fetch("/inspector/listen", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ address, token, capabilities }),
      signal: abort.signal,
    });
    if (!answer.ok || !answer.body) throw new Error(await messageOf(answer));
    const messages = messagesIn(answer.body);
    const first = (await messages.next()).value as Told | undefined;
    if (first?.kind !== "accepted") throw new Error("The line ended at once.");
    board.columns[index]!.terms(first.value.honored_capabilities);
    board.columns[index]!.state("");
    void follow(index, messages, abort.signal);
    return first.value;
  };

  const follow = async (
    index: number,
    messages: AsyncGenerator<Told>,
    signal: AbortSignal,
  ): Promise<void> => {
    const column = board.columns[index]!;
    try {
      for await (const { kind, value } of messages) {
        if (kind === "message") {
          const { event, issues } = readMessage(value);
          board.hear(index, { at: Date.now(), text: value, event, issues });
        } else if (kind === "line")
          column.state(value.state === "connected" ? "" : `The line dropped. Trying again. ${value.message}`);
        else if (kind === "closed") column.state(`Ended: ${value}`);
      }
    } catch {
      if (!signal.aborted) column.state("Ended: this page's own server is gone.");
    }
  };

  const wishes = kinds.map(({ capabilities }) => capabilities);
  const stop = () => {
    for (const abort of aborts) abort.abort();
  };
  let agent: string;
  try {
    const accepted = await Promise.all(wishes.map((wish, index) => open(index, wish)));
    const { agent_name, agent_id } = accepted[0]!.producer;
    agent = agent_name ?? agent_id;
  } catch (error) {
    stop();
    throw error;
  }
  const quiet = keepPumping(board);
  return {
    agent,
    source: {
      // A new line with the new wishes: what was open there is told again.
      async renegotiate(index, capabilities) {
        wishes[index] = { ...wishes[index], ...capabilities };
        return (await open(index, wishes[index]!)).honored_capabilities;
      },
      stop() {
        quiet();
        stop();
      },
    },
  };
}
