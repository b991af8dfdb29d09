/** What of an utterance is spoken: kept text is not, what stands in for it is; neighbours in one voice are one breath. */
import type { Run, Utterance } from "../subscriber/announcer.ts";

export function speechRuns({ runs }: Pick<Utterance, "runs">): Pick<Run, "text" | "language">[] {
  const spoken: { text: string; language: string | undefined }[] = [];
  for (const { text, language, kept } of runs) {
    if (kept || !/[\p{L}\p{N}]/u.test(text)) continue;
    const last = spoken.at(-1);
    if (last && last.language === language) last.text += text;
    else spoken.push({ text: text.trim(), language });
  }
  return spoken;
}
