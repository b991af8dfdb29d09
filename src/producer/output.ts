/** Streamed text of a session: one output at a time unless the author opens more. */
import { EarshotError } from "../protocol/errors.ts";
import type { Ids } from "../protocol/platform.ts";
import { codePoints } from "../text/language.ts";
import { type Redactor, safeLength } from "./redaction.ts";
import type { SayOptions } from "./specs.ts";

/** Sends one chunk in a language. */
export type Send = (fields: Record<string, unknown>, language: string) => Promise<void>;

export class Output {
  readonly output_id: string;
  readonly content_type: string | undefined;
  readonly #language: string;
  readonly #send: Send;
  readonly #redactor: Redactor;
  #held = "";
  #heldIn: string;
  #last = "";
  #position = 0;
  #open = true;

  constructor(
    output_id: string,
    { content_type, language }: SayOptions & { language: string },
    send: Send,
    redactor: Redactor,
  ) {
    this.output_id = output_id;
    this.content_type = content_type;
    this.#language = language;
    this.#heldIn = language;
    this.#send = send;
    this.#redactor = redactor;
  }

  get open(): boolean {
    return this.#open;
  }

  say(text: string, language = this.#language): Promise<void> {
    if (typeof text !== "string") {
      throw new EarshotError("EVT-13", `say takes a string; found ${text === null ? "null" : typeof text}.`);
    }
    if (language !== this.#heldIn) void this.release();
    this.#heldIn = language;
    const all = this.#held + text;
    const ready = safeLength(all, this.#last);
    this.#held = all.slice(ready);
    return this.#chunk(all.slice(0, ready), false);
  }

  /** Sends the rest and completes the output: exactly one chunk has `complete` (SEQ-20). */
  end(): Promise<void> {
    if (!this.#open) return Promise.resolve();
    const rest = this.#held;
    this.#held = "";
    const sent = this.#chunk(rest, true);
    this.#open = false;
    return sent;
  }

  /** Sends what was held back, because another event follows. */
  release(): Promise<void> {
    const rest = this.#held;
    this.#held = "";
    return this.#chunk(rest, false);
  }

  #chunk(text: string, complete: boolean): Promise<void> {
    if (text === "" && !complete) return Promise.resolve();
    const language = this.#heldIn;
    const chunk = this.#redactor.redact(text);
    const position = this.#position;
    this.#position += codePoints(chunk);
    this.#last = text.slice(-1) || this.#last;
    return this.#send(
      {
        chunk,
        position,
        complete,
        coalesce_hint: complete ? "completion" : "none",
        output_id: this.output_id,
        content_type: this.content_type,
        language,
      },
      language,
    );
  }
}

/** The outputs of a session: a current one for `say`, and any others. */
export class Outputs {
  readonly #all = new Set<Output>();
  readonly #make: (options: SayOptions) => Output;
  #current: Output | undefined;

  constructor(ids: Ids, language: string, send: Send, redactor: Redactor) {
    this.#make = (options) =>
      new Output(ids("out"), { ...options, language: options.language ?? language }, send, redactor);
  }

  open(options: SayOptions = {}): Output {
    for (const one of this.#all) if (!one.open) this.#all.delete(one);
    const output = this.#make(options);
    this.#all.add(output);
    return output;
  }

  /** The output that `say` writes to; another content type starts another output. */
  current(options: SayOptions): Output {
    const same = this.#current?.open && this.#current.content_type === options.content_type;
    if (this.#current && !same) void this.#current.end();
    if (!same) this.#current = this.open(options);
    return this.#current!;
  }

  /** Sends all held-back text, so that the next event does not overtake it. */
  release(): void {
    for (const output of this.#all) {
      if (output.open) void output.release();
      else this.#all.delete(output);
    }
  }

  /** Completes open outputs before a terminal event (CON-46). */
  endAll(): void {
    for (const output of this.#all) void output.end();
    this.#all.clear();
    this.#current = undefined;
  }
}
