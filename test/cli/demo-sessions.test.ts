/** The recorded sessions in examples/sessions. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { recordSessions } from "../support/recorded-sessions.ts";
import { earshot, root } from "./support.ts";

const folder = `${root}examples/sessions`;

describe("the recorded sessions", () => {
  it('are what the demo agent does today; "npm run sessions" writes them anew', async () => {
    const files = await recordSessions();
    expect(readdirSync(folder).sort()).toEqual(files.map(([name]) => name).sort());
    for (const [name, text] of files)
      expect([name, readFileSync(`${folder}/${name}`, "utf8")]).toEqual([name, text]);
  });

  it.each(readdirSync(folder))("%s is valid from beginning to end", async (name) => {
    const { code, err, out } = await earshot(["validate", "--strict", "--complete", `${folder}/${name}`]);
    expect([code, out, err]).toEqual([0, expect.anything(), expect.anything()]);
  });

  it("show all twelve event types", () => {
    const text = readdirSync(folder)
      .map((name) => readFileSync(`${folder}/${name}`, "utf8"))
      .join("");
    expect(new Set(text.match(/"type":"aaep:agent\.[a-z.]+"/g)).size).toBe(12);
  });
});
