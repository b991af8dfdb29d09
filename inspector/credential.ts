/**
 * The token arrives in the URL fragment, which is never sent, is removed from the address bar at once, and stays in this
 * tab. A page's WebSockets cannot send headers, so the token is exchanged for an HttpOnly cookie.
 */
const KEY = "earshot-inspector-token";

export interface About {
  readonly prefix: string;
  readonly elsewhere: boolean;
  readonly prompt: string | null;
  readonly example: string | null;
}

export type Entry = { readonly about: About } | { readonly refused: string };

export class Credential {
  #token: string | undefined;

  constructor() {
    const given = /^#token=([\w.~+/-]+=*)$/.exec(location.hash)?.[1];
    if (given !== undefined) this.keep(given);
    if (location.hash.startsWith("#token=")) history.replaceState(null, "", location.pathname);
    this.#token = given ?? sessionStorage.getItem(KEY) ?? undefined;
  }

  keep(token: string): void {
    this.#token = token;
    sessionStorage.setItem(KEY, token);
  }

  get headers(): Record<string, string> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
  }

  /** Authenticates and fetches what this server offers, or why it refuses. */
  async enter(): Promise<Entry> {
    const answer = await fetch("/inspector/about", { headers: this.headers }).catch(() => undefined);
    if (!answer) return { refused: "The agent does not answer. Is it running?" };
    if (!answer.ok) {
      sessionStorage.removeItem(KEY);
      return { refused: await refusalOf(answer, this.#token !== undefined) };
    }
    const about = (await answer.json()) as About;
    if (this.#token !== undefined) {
      const remembered = await fetch(`${about.prefix}/session`, { method: "POST", headers: this.headers });
      if (!remembered.ok) return { refused: await refusalOf(remembered, true) };
    }
    return { about };
  }
}

async function refusalOf(answer: Response, shown: boolean): Promise<string> {
  if (answer.status === 401)
    return shown
      ? "The agent does not accept this page's token. It was probably restarted."
      : "Without it anyone on this machine could listen to the agent and answer for you.";
  const { message } = (await answer.json().catch(() => ({}))) as { message?: unknown };
  return typeof message === "string" ? message : `The agent refused: ${answer.status}.`;
}

/** The error message of a failed request. */
export async function messageOf(answer: Response): Promise<string> {
  const { message } = (await answer.json().catch(() => ({}))) as { message?: unknown };
  return typeof message === "string" ? message : `That did not work: ${answer.status}.`;
}
