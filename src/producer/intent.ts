/**
 * From a yes to what came of it. That it is about to run is kept before it runs, with its announcement; how it ended,
 * with the report of that. What stops in between leaves the truth behind: begun, and nobody knows (F02).
 */
import type { Act } from "../hub/record.ts";
import type { Fact } from "../hub/store.ts";
import type { Stage } from "./stage.ts";

type Status = "success" | "error" | "timeout" | "not_started";

export class Intent {
  readonly tool_call_id: string;
  readonly #stage: Stage;
  readonly #key: string;
  readonly #asked: string;
  readonly #act: Act;
  readonly #reply_token: string;

  /** `key` is the act's, `asked` that of the question about it. */
  constructor(stage: Stage, key: string, asked: string, act: Act) {
    this.#stage = stage;
    this.#key = key;
    this.#asked = asked;
    this.#act = act;
    this.tool_call_id = act.tool_call_id;
    this.#reply_token = stage.ledger.question(asked)?.event.reply_token ?? "";
  }

  /** The yes will not be used. */
  void(): Fact[] {
    return this.#stage.ledger.drop(this.#asked);
  }

  begun(): Fact[] {
    this.#record({ kind: "begun", reply_token: this.#reply_token });
    return this.#stage.ledger.begun(this.#key, this.#asked, this.#act);
  }

  ended(status: Status): Fact[] {
    this.#record({ kind: "ended", status });
    return this.#stage.ledger.ended(this.#key, status === "success" ? "done" : "failed");
  }

  #record(
    what:
      | { readonly kind: "begun"; readonly reply_token: string }
      | { readonly kind: "ended"; readonly status: Status },
  ): void {
    const { session_id, options } = this.#stage;
    const { tool, tool_call_id, params_hash } = this.#act;
    const at = options.clock.timestamp();
    options.hub.audit({ ...what, session_id, tool, tool_call_id, params_hash, at });
  }
}
