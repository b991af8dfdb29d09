/** docs/wire.md shows what happens: its transcripts are made again and compared. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLOSE_REASONS } from "../../src/protocol/close-reasons.ts";
import { parse } from "../../src/protocol/parse.ts";
import { KINDS, renew, transcript } from "./transcripts.ts";

const page = readFileSync(new URL("../../docs/wire.md", import.meta.url), "utf8").replaceAll("\r\n", "\n");

describe("docs/wire.md", () => {
  it("shows what is said on the wire today", async () => {
    expect((await renew(page)) === page, "The transcripts are out of date. Run: npm run transcripts").toBe(
      true,
    );
  });

  it("shows valid messages only, the same on every transport: TRN-02", async () => {
    const told = [];
    for (const kind of KINDS) {
      const lines = (await transcript(kind))
        .split("\n")
        .map((line) => /^[<>] (?:\[[0-9a-f ]+\] |data: |json: )?(\{.*)$/.exec(line)?.[1]);
      const messages = lines.flatMap((line) => {
        const value = line && JSON.parse(line);
        // A stream's last words say why it ends; where there is a close frame or an end of file, nothing needs to.
        return value && value.type !== "earshot:closing"
          ? [JSON.stringify(value.params ?? value.result ?? value)]
          : [];
      });
      for (const message of messages)
        expect(parse(message, { mode: "strict" }), message).toMatchObject({ ok: true });
      told.push(messages);
    }
    for (const other of told) expect(other).toEqual(told[0]);
    expect(told[0]!.length).toBeGreaterThan(8);
  });

  it("names the places that are a contract", () => {
    for (const place of [
      "$XDG_RUNTIME_DIR/aaep/",
      "Library/Application Support/AAEP/",
      "/tmp/aaep-<uid>/",
      "\\\\.\\pipe\\aaep\\",
      "$XDG_RUNTIME_DIR/earshot/",
    ])
      expect(page).toContain(place);
  });

  it("lists every way a WebSocket ends, and whether to come back: WS-07", () => {
    const rows = page.split("\n").flatMap((line) => {
      const [, code, reasons, back] = /^\| (\d{4}) \| (.+) \| (yes|no)\b.* \|$/.exec(line) ?? [];
      return code === undefined ? [] : [{ code: Number(code), reasons: reasons!, reconnect: back === "yes" }];
    });
    for (const [name, { websocket, reconnect }] of Object.entries(CLOSE_REASONS))
      expect(rows, name).toContainEqual({
        code: websocket,
        reasons: expect.stringContaining(`\`${name}\``),
        reconnect,
      });
  });
});
