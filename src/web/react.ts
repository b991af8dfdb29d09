/** `earshot/react`: the same listener as a hook, and the element as a component. React 18 or newer, brought by the page. */
import { createElement, type ReactElement, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { AgentEvent } from "../protocol/types.ts";
import type { AnswerInput, Utterance } from "../subscriber/announcer.ts";
import { Ear, type LineState, type Token } from "./ear.ts";
import { defineEarshotLive, type EarshotAnnounced, type EarshotLive as LiveElement } from "./element.ts";
import type { EarSettings } from "./settings.ts";

export interface UseEarshotOptions extends Partial<EarSettings> {
  readonly token?: Token;
  readonly account?: string;
  /** Called with everything heard. */
  readonly onEvent?: (event: AgentEvent) => void;
  /** Called with each announcement this tab should make; hand it to your own live region. */
  readonly onSay?: (utterance: Utterance) => void;
}

export interface Earshot {
  readonly line: LineState;
  readonly settings: EarSettings;
  /** The question to put to the person now, in this tab. */
  readonly asked: Utterance | undefined;
  readonly questions: number;
  answer(input: AnswerInput): void;
  postpone(): void;
  reopen(): void;
  set(changed: Partial<EarSettings>): void;
}
