/** The picture in the docs is what the engine does today: drawn again and compared with the files. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkSession } from "../src/protocol/lifecycle.ts";
import { parseValue } from "../src/protocol/parse.ts";
import { hearSession, LISTENERS, tellSession } from "./support/four-listeners.ts";
import { drawPictures } from "./support/four-listeners-picture.ts";

const file = (name: string): string =>
  readFileSync(new URL(`../docs/${name}`, import.meta.url), "utf8").replaceAll("\r\n", "\n");

test("the picture of the four listeners shows what they get today", async () => {
  const { svg, markdown } = await drawPictures();
  const stale = "The docs are out of date. Run: npm run picture";
  expect(svg === file("four-listeners.svg"), stale).toBe(true);
  expect(markdown === file("four-listeners.md"), stale).toBe(true);
});

test("the session in the picture is a legal one, and every event in it is valid", async () => {
  const heard = await hearSession();
  const { arrivals } = heard.at(-1)!;
  const { answer } = tellSession();
  const asked = arrivals.findIndex(({ critical }) => critical);
  const events = arrivals.map(({ event }) => event);
  const told = [...events.slice(0, asked + 1), answer, ...events.slice(asked + 1)];
  expect(checkSession(told, { ended: true })).toEqual([]);
  for (const { event } of heard.flatMap((one) => one.arrivals)) {
    expect(parseValue(event, { mode: "strict" })).toMatchObject({ ok: true });
  }
});

test("in the picture the four hear the same words of the answer, and the question in the same instant", async () => {
  const heard = await hearSession();
  expect(heard).toHaveLength(LISTENERS.length);
  const texts = heard.map(({ arrivals }) =>
    arrivals.map(({ event }) => (event as { chunk?: string }).chunk ?? "").join(""),
  );
  const asked = heard.map(({ arrivals }) => arrivals.find(({ critical }) => critical)?.at);
  expect(new Set(texts).size).toBe(1);
  expect(new Set(asked).size).toBe(1);
});
