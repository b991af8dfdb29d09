/** `earshot/web/react`: the same listener as a hook, and the element as a component. React 18 or newer, brought by the page. */
import { createElement, useCallback, useEffect, useRef, useState } from "react";
import type { AgentEvent } from "../protocol/types.ts";
import type { AnswerInput, Utterance } from "../subscriber/announcer.ts";
import type { Token } from "../subscriber/index.ts";
import { defineEarshotLive, type EarshotAnnounced, type EarshotLive as LiveElement } from "./element.ts";
import { type ConnectionState, PageListener } from "./page-listener.ts";
import type { PageSettings } from "./settings.ts";

/** Options of `useEarshot`. */
export interface UseEarshotOptions extends Partial<PageSettings> {
  readonly token?: Token;
  readonly account?: string;
  /** Called with everything heard. */
  readonly onEvent?: (event: AgentEvent) => void;
  /** Called with words about what happened, for a transcript of your own. */
  readonly onNote?: (utterance: Utterance) => void;
  /**
   * Called with each announcement this tab should make; hand it to your own live region. With it the page announces
   * by itself and gets questions as `asked`; no `<EarshotLive>` for the same agent may be there.
   */
  readonly onSay?: (utterance: Utterance) => void;
}

/** What `useEarshot` returns: the connection, the current question, and how to answer it. */
export interface Earshot {
  readonly connection: ConnectionState;
  readonly settings: PageSettings;
  /** The question to put to the person now, in this tab; only with `onSay`. */
  readonly asked: Utterance | undefined;
  readonly questions: number;
  answer(input: AnswerInput): void;
  postpone(): void;
  reopen(): void;
  set(changed: Partial<PageSettings>): void;
}

const NOWHERE: ConnectionState = { state: "connecting", agent: "" };

/** Hears the agent at `src` for as long as the component is there. Nothing is shown or said unless you do it. */
export function useEarshot(src: string, options: UseEarshotOptions = {}): Earshot {
  const settings = settingsOf(options);
  const latest = useRef(options);
  latest.current = options;
  const [listener, setListener] = useState<PageListener | undefined>(undefined);
  const [, draw] = useState(0);
  const { account } = options;

  useEffect(() => {
    // A hook without `onSay` must not take over speaking from a tab that announces.
    const presence = () => ({
      at: Date.now(),
      visible: latest.current.onSay !== undefined && document.visibilityState === "visible",
    });
    const { token } = latest.current;
    const made = new PageListener(
      {
        address: new URL(src, document.baseURI).href.replace(/\/$/, ""),
        settings: settingsOf(latest.current),
        ...(token === undefined ? {} : { token }),
        ...(account === undefined ? {} : { account }),
        host: window,
        presence: presence(),
      },
      {
        say: (utterance) => latest.current.onSay?.(utterance),
        event: (event) => latest.current.onEvent?.(event),
        note: (utterance) => latest.current.onNote?.(utterance),
        changed: () => draw((count) => count + 1),
      },
    );
    const touch = () => made.touch(presence());
    window.addEventListener("focus", touch);
    document.addEventListener("visibilitychange", touch);
    setListener(made);
    void made.start();
    return () => {
      window.removeEventListener("focus", touch);
      document.removeEventListener("visibilitychange", touch);
      made.stop();
    };
  }, [src, account]);

  return {
    connection: listener?.connection ?? NOWHERE,
    settings: listener?.settings ?? settings,
    asked: listener?.asked,
    questions: listener?.announcer.questions ?? 0,
    answer: useCallback((input) => listener?.answer(input), [listener]),
    postpone: useCallback(() => listener?.postpone(), [listener]),
    reopen: useCallback(() => listener?.reopen(), [listener]),
    set: useCallback((changed) => void listener?.set(changed), [listener]),
  };
}

const settingsOf = ({ languages, verbosity, load, speed }: UseEarshotOptions): PageSettings => ({
  languages: languages ?? (typeof navigator === "object" ? [...navigator.languages] : ["en"]),
  verbosity: verbosity ?? "normal",
  load: load ?? "medium",
  speed: speed ?? "medium",
});

/** Properties of the `EarshotLive` component. */
export interface EarshotLiveProps {
  readonly src: string;
  readonly lang?: string;
  readonly verbosity?: PageSettings["verbosity"];
  readonly load?: PageSettings["load"];
  readonly speed?: PageSettings["speed"];
  readonly account?: string;
  readonly token?: Token;
  readonly className?: string;
  readonly onAnnounced?: (announced: EarshotAnnounced) => void;
  /** Handed the element, e.g. for `addTurn`. */
  readonly onElement?: (element: LiveElement | null) => void;
}

/**
 * What `EarshotLive` returns. The shape of React's `ReactElement`, written out so that the types compile in a project
 * that has no React.
 */
export interface EarshotLiveElement {
  // biome-ignore lint/suspicious/noExplicitAny: React's own type for it cannot be named here.
  readonly type: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly props: any;
  readonly key: string | null;
}

/** `<earshot-live>` with properties: transcript, announcements, questions and settings, as they are without React. */
export function EarshotLive(props: EarshotLiveProps): EarshotLiveElement {
  const { src, token, className, onAnnounced, onElement, ...attributes } = props;
  const node = useRef<LiveElement | null>(null);
  const latest = useRef(onAnnounced);
  latest.current = onAnnounced;
  const [ready, setReady] = useState(false);
  const keep = useCallback(
    (element: LiveElement | null) => {
      node.current = element;
      onElement?.(element);
    },
    [onElement],
  );
  useEffect(() => {
    const element = node.current!;
    const tell = (event: Event) => latest.current?.((event as CustomEvent<EarshotAnnounced>).detail);
    element.addEventListener("earshot-announced", tell);
    defineEarshotLive();
    setReady(true);
    return () => element.removeEventListener("earshot-announced", tell);
  }, []);
  useEffect(() => {
    if (node.current) node.current.token = token;
  }, [token]);
  // The address comes last: the element starts with it, and needs its token by then.
  const address = ready ? { src } : {};
  return createElement("earshot-live", { ref: keep, class: className, ...attributes, ...address });
}
