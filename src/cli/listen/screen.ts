/** The lines of a terminal that is written to and typed at: a line that comes while someone types starts on its own. */
import type { Io } from "../command.ts";

export class Screen {
  readonly #io: Io;
  readonly #typed: () => string;
  /** Typed letters never get among results that a program reads. */
  readonly #echoes: Io["stdout"] | Io["stderr"];

  constructor(io: Io, typed: () => string, echo: "stdout" | "stderr") {
    this.#io = io;
    this.#typed = typed;
    this.#echoes = io[echo];
  }

  echo(text: string): void {
    this.#echoes.write(text);
  }

  /** Whole lines. What was being typed is shown again below them, as it was. */
  write(lines: string): void {
    const typed = this.#typed();
    if (typed !== "") this.#echoes.write("\n");
    this.#io.stdout.write(lines);
    if (typed !== "") this.#echoes.write(typed);
  }
}
