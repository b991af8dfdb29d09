/**
 * Connections that drop and come back: what is worth saying of them. One that is back is believed once the agent speaks
 * or the line has held for a moment, for an agent that is just leaving may still open the door and shut it again. One
 * that keeps dropping is told of now and then, not each time.
 */
const HELD_MS = 1_000;
const LOST_AGAIN_MS = 10_000;

type State = "lost" | "connected";
type Key = "line_lost" | "line_back" | "line_ended";
type Tell = (key: Key, agent: string, source: string, now: number) => void;

interface Line {
  source: string;
  agent: string;
  state: State;
  said: State;
  since: number;
  lostSaidAt: number;
}

export class Lines {
  readonly #lines = new Map<string, Line>();
  readonly #tell: Tell;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  is(state: State, agent: string, source: string, now: number): void {
    // Whoever has a first connection announced means it as news.
    const said = state === "lost" ? "connected" : "lost";
    const known = this.#lines.get(source) ?? { said, lostSaidAt: Number.NEGATIVE_INFINITY };
    this.#lines.set(source, { ...known, source, agent, state, since: now });
    this.due(now);
  }

  /** The agent speaks: then it is there. */
  heard(source: string, now: number): void {
    const line = this.#lines.get(source);
    if (line?.state === "connected" && line.said === "lost") this.#say(line, now);
  }

  ended(agent: string, source: string, now: number): void {
    this.#lines.delete(source);
    this.#tell("line_ended", agent, source, now);
  }

  /** Nobody knows whether agents behind it still work. */
  lost(source: string): boolean {
    const line = this.#lines.get(source);
    return line !== undefined && (line.state === "lost" || line.said === "lost");
  }

  due(now: number): void {
    for (const line of this.#lines.values())
      if (line.state !== line.said && dueAt(line) <= now) this.#say(line, now);
  }

  get wakeAt(): number | undefined {
    const times = [...this.#lines.values()].filter(({ state, said }) => state !== said).map(dueAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #say(line: Line, now: number): void {
    line.said = line.state;
    if (line.state === "lost") line.lostSaidAt = now;
    this.#tell(line.state === "lost" ? "line_lost" : "line_back", line.agent, line.source, now);
  }
}

const dueAt = ({ state, since, lostSaidAt }: Line): number =>
  state === "connected" ? since + HELD_MS : Math.max(since, lostSaidAt + LOST_AGAIN_MS);
