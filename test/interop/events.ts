/** What a subscriber heard, to be waited for. */
import type { AgentEvent, OutputStreaming } from "../../src/protocol/types.ts";
import type { Subscriber } from "../../src/subscriber/subscriber.ts";

export class EventsOf {
  readonly all: AgentEvent[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(sub: Subscriber) {
    sub.on("event", (event) => {
      this.all.push(event);
      for (const look of this.#waiting) look();
    });
  }

  get text(): string {
    return this.all
      .map((event) => (event.type === "aaep:agent.output.streaming" ? (event as OutputStreaming).chunk : ""))
      .join("");
  }

  until(fits: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!fits()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  untilType(type: string): Promise<void> {
    return this.until(() => this.all.some((event) => event.type === type));
  }
}
