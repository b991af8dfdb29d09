/** Sessions that say something: legal ones whose text is in many scripts, chopped anywhere, with all that may dress it. */
import fc from "fast-check";
import { closesText } from "../../src/delivery/log-window.ts";
import { type AgentEvent, CORE_CONTEXT, type OutputStreaming } from "../../src/protocol/types.ts";
import { REGISTRY } from "./delivery-harness.ts";
import { isEvent, legalScript } from "./legal-session.ts";

const SENTENCES = [
  "Your balance is $4,200.50 as of 5 p.m. today. ",
  "E\u0301le\u0300 ni o\u0323mo\u0323 mi\u0301. A\u0300wa o\u0323\u0301 s\u0323e e\u0301. ",
  "👩‍👩‍👧‍👦 🇳🇬🇫🇷🇩🇪 done! 👋🏽 ",
  "\u1112\u1161\u11ab\u1100\u1173\u11af \u110b\u1175\u11b8\u1102\u1175\u1103\u1161. ",
  "日本語です。次の文。",
  "नमस्ते दुनिया। क्षत्रिय आए। ",
  "مرحبا بالعالم. كيف الحال؟ ",
  "One. Two! Three?\n\n# Heading\n\n- item one\n- item two\n\n",
  "สวัสดีครับ ยินดีต้อนรับ ",
  "x\u0301\u0302\u0303\u0304 a\u0327\u0301 \u{1d11e} ",
];

/** What each output of a session says, in the order of the pool turned by a number. */
function textFor(turn: number): string {
  const at = turn % SENTENCES.length;
  return [...SENTENCES.slice(at), ...SENTENCES.slice(0, at)].join("");
}

const dressing = fc.record({
  units: fc.constantFrom(1, 1, 2, 3, 7, 20, 60, 400),
  language: fc.constantFrom(undefined, undefined, undefined, undefined, "yo", "en-GB"),
  markdown: fc.constantFrom(false, false, false, true),
  extra: fc.constantFrom("none", "none", "extension", "summaries", "variant", "required"),
  background: fc.boolean(),
});

export interface Said {
  readonly event: AgentEvent;
  readonly required: boolean;
}

/** One session as its producer would log it. */
export const talk = (tag: string, moves = 25): fc.Arbitrary<Said[]> =>
  fc
    .tuple(
      legalScript({ tag, moves, extension: true }),
      fc.array(dressing, { minLength: 5, maxLength: 12 }),
      fc.nat(20),
    )
    .map(([script, dressings, turn]) => {
      const read = new Map<string, number>();
      return script.filter(isEvent).map((event, index): Said => {
        const how = dressings[index % dressings.length]!;
        if (event.type !== "aaep:agent.output.streaming") return dress(event, how);
        const { output_id = "", chunk, complete } = event as OutputStreaming;
        const text = textFor(turn + output_id.length + output_id.charCodeAt(output_id.length - 1));
        const from = read.get(output_id) ?? 0;
        read.set(output_id, from + how.units);
        const { language, markdown } = how;
        return {
          required: false,
          event: {
            ...event,
            chunk: complete && chunk === "" ? "" : text.slice(from, from + how.units),
            ...(language ? { language } : {}),
            ...(markdown ? { content_type: "text/markdown" } : {}),
            ...(how.extra === "extension" ? extension : {}),
          } as AgentEvent,
        };
      });
    });

const extension = { "@context": [CORE_CONTEXT, REGISTRY.medai], extensions: { medai: { ward: "7" } } };

function dress(event: AgentEvent, { extra, background }: { extra: string; background: boolean }): Said {
  const isState = event.type === "aaep:agent.state.changed";
  const required = extra === "required" && isState;
  const more: Record<string, unknown> = {};
  if (extra === "extension" && event.type.startsWith("aaep:")) Object.assign(more, extension);
  if (extra === "summaries")
    Object.assign(more, { summary_terse: "Short.", summary_detailed: "A long and detailed account." });
  if (extra === "variant") {
    for (const name of ["summary_normal", "action", "consequence", "question", "reason"]) {
      if (name in event) more[`${name}_yo`] = "Lóòótọ́.";
    }
  }
  if (background && isState) more["urgency"] = "background";
  return { required, event: { ...event, ...more } as AgentEvent };
}

/** The text of each output as it was said: well-formed Unicode, in NFC where nothing interrupts it. */
export class Script {
  readonly #outputs = new Map<string, { voice: string; closed: string; open: string }>();

  hear({ event, required }: Said): void {
    if (closesText(event, required)) {
      for (const [key, output] of this.#outputs) if (key.startsWith(`${event.session_id} `)) close(output);
    }
    if (event.type !== "aaep:agent.output.streaming") return;
    const { output_id = "", chunk, language, content_type, localization_hints } = event as OutputStreaming;
    const key = `${event.session_id} ${output_id}`;
    const voice = `${language ?? localization_hints?.primary_language} ${content_type}`;
    const output = this.#outputs.get(key) ?? { voice, closed: "", open: "" };
    this.#outputs.set(key, output);
    if (output.voice !== voice) close(output);
    output.voice = voice;
    output.open += chunk;
  }

  get texts(): Map<string, string> {
    return new Map(
      [...this.#outputs].map(([key, { closed, open }]) => [
        key,
        (closed + wellFormed(open)).normalize("NFC"),
      ]),
    );
  }
}

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd");

function close(output: { closed: string; open: string }): void {
  output.closed += wellFormed(output.open);
  output.open = "";
}
