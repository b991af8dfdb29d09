/** One table: every transport times every behaviour of a connection, seen as bytes. The same table is in docs/wire.md. */
import { afterEach, describe, it } from "vitest";
import { BEHAVIOURS, createStage } from "./behaviours.ts";
import { TRANSPORTS } from "./transports.ts";

describe.each(TRANSPORTS)("$name", (transport) => {
  const stage = createStage(transport);
  afterEach(stage.close);

  for (const { title, run, not } of BEHAVIOURS) {
    const why = not?.[transport.key];
    it.skipIf(why !== undefined)(why === undefined ? title : `${title} — otherwise here: ${why}`, () =>
      run(stage),
    );
  }
});
