/**
 * One connection and one speaking tab per browser (F17): of all tabs with the same agent one is the leader and holds the
 * connection, and the one looked at last speaks. Leader election uses Web Locks: the browser itself releases the lock of
 * a tab that is gone, at once and without a timer. Without Web Locks each tab connects by itself.
 */
import type { ResumePoint } from "../protocol/extension.ts";
import type { AgentEvent } from "../protocol/types.ts";
import type { Outgoing } from "../subscriber/announcer.ts";
import type { ConnectionState } from "./page-listener.ts";
import type { PageSettings } from "./settings.ts";

/** What tabs need of the browser; a page's `window` has it. */
export interface TabsHost {
  readonly navigator: { readonly locks?: LockManager };
  readonly BroadcastChannel?: typeof BroadcastChannel;
}

export interface TabsEvents {
  /** This tab is the leader from now on. */
  lead(): void;
  /** Another tab is the leader. */
  follow(): void;
  message(message: unknown): void;
  /** Whether this tab is the one to speak may have changed. */
  speaker(): void;
}

interface Presence {
  /** When the person last looked at or used it. */
  readonly at: number;
  readonly visible: boolean;
}

type Wire =
  | { readonly tabs: "here"; readonly id: string; readonly presence: Presence; readonly ask: boolean }
  | { readonly tabs: "lead"; readonly id: string }
  | { readonly tabs: "say"; readonly message: unknown };

export class Tabs {
  readonly id: string;
  readonly #name: string;
  readonly #events: TabsEvents;
  readonly #locks: LockManager | undefined;
  #channel: BroadcastChannel | undefined;
  readonly #others = new Map<string, Presence>();
  readonly #gone = new AbortController();
  #own: Presence;
  #leads = false;

  constructor(name: string, id: string, presence: Presence, events: TabsEvents, host: TabsHost) {
    this.id = id;
    this.#name = `earshot ${name}`;
    this.#own = presence;
    this.#events = events;
    this.#locks = host.navigator.locks;
    const shared = this.#locks !== undefined && host.BroadcastChannel !== undefined;
    try {
      this.#channel = shared ? new host.BroadcastChannel!(this.#name) : undefined;
    } catch {
      // Not allowed in this page, as storage may not be in a frame.
    }
  }

  get leads(): boolean {
    return this.#leads;
  }

  get alone(): boolean {
    return this.#others.size === 0;
  }

  /** Of the visible tabs, the one looked at last speaks. */
  get speaks(): boolean {
    if (!this.#own.visible) return false;
    for (const [id, { at, visible }] of this.#others)
      if (visible && (at > this.#own.at || (at === this.#own.at && id > this.id))) return false;
    return true;
  }

  start(): void {
    if (!this.#channel) return this.#solo();
    this.#channel.onmessage = ({ data }: MessageEvent<Wire>) => this.#hear(data);
    // Held until this tab is gone; the others wait for it, and so learn when that is.
    this.#hold(`${this.#name} ${this.id}`, () => this.#tell(true));
    this.#hold(this.#name, () => {
      this.#leads = true;
      this.#channel?.postMessage({ tabs: "lead", id: this.id } satisfies Wire);
      this.#events.lead();
    });
  }

  post(message: unknown): void {
    this.#channel?.postMessage({ tabs: "say", message } satisfies Wire);
  }

  /** The person looked at this tab, or away from it. */
  touch(presence: Presence): void {
    const before = this.speaks;
    this.#own = presence;
    this.#tell(false);
    if (before !== this.speaks) this.#events.speaker();
  }

  close(): void {
    this.#gone.abort();
    this.#channel?.close();
  }

  #hold(name: string, granted: () => void): void {
    const { signal } = this.#gone;
    const held = () =>
      new Promise<void>((release) => {
        if (signal.aborted) return release();
        signal.addEventListener("abort", () => release(), { once: true });
        granted();
      });
    // Web Locks are denied: better its own connection than none.
    this.#locks!.request(name, { signal }, held).catch(() => this.#solo());
  }

  #solo(): void {
    if (this.#leads || this.#gone.signal.aborted) return;
    this.#channel?.close();
    this.#channel = undefined;
    this.#leads = true;
    this.#events.lead();
  }

  #tell(ask: boolean): void {
    if (this.#gone.signal.aborted) return;
    this.#channel?.postMessage({ tabs: "here", id: this.id, presence: this.#own, ask } satisfies Wire);
  }

  #hear(wire: Wire): void {
    if (wire.tabs === "say") return this.#events.message(wire.message);
    if (wire.tabs === "lead") return this.#events.follow();
    const before = this.speaks;
    const known = this.#others.has(wire.id);
    this.#others.set(wire.id, wire.presence);
    if (!known) this.#watch(wire.id);
    if (wire.ask) this.#tell(false);
    if (before !== this.speaks) this.#events.speaker();
  }

  /** Its lock is released once it is gone, however it ended. */
  #watch(id: string): void {
    this.#locks!.request(`${this.#name} ${id}`, { signal: this.#gone.signal }, () => {
      const before = this.speaks;
      this.#others.delete(id);
      if (before !== this.speaks) this.#events.speaker();
    }).catch(() => undefined);
  }
}

/** What tabs broadcast to each other. */
export type TabMessage =
  | { readonly do: "event"; readonly event: AgentEvent; readonly resume: ResumePoint }
  | { readonly do: "state"; readonly state: ConnectionState }
  | { readonly do: "sync" }
  | {
      readonly do: "log";
      readonly events: readonly AgentEvent[];
      readonly state: ConnectionState;
      readonly resume: ResumePoint | undefined;
      readonly settings: PageSettings;
    }
  | { readonly do: "send"; readonly id: string; readonly message: Outgoing; readonly again: boolean }
  | { readonly do: "sent"; readonly id: string; readonly taken: boolean | undefined }
  | { readonly do: "said"; readonly key: string; readonly reply_token: string | undefined }
  | { readonly do: "postponed"; readonly reply_token: string }
  | { readonly do: "settings"; readonly settings: PageSettings };

/** Events kept for new tabs, so that their transcript has a beginning. */
const MOST_LOGGED = 2_000;

/** Appends to the bounded log. Text is dropped first, so that an open question stays. */
export function keepInLog(log: AgentEvent[], event: AgentEvent): void {
  log.push(event);
  if (log.length <= MOST_LOGGED) return;
  const text = log.findIndex(({ type }) => type === "aaep:agent.output.streaming");
  log.splice(Math.max(text, 0), 1);
}
