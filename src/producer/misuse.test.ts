/** The first gate is the compiler: what could do harm does not compile. Checked by tsc; nothing here is run. */
import { describe, expectTypeOf, it } from "vitest";
import type { Ran, Refusal, Session, ToolOutcome } from "../index.ts";

declare const session: Session;
declare const maybe: boolean;
const base = { tool: "transfer", summary: "Transferring." };
const asked = { ...base, params: { amount: 500 }, action: "Transfer.", consequence: "Gone." };

/** Never called: its body is for the compiler alone. */
async function misuses(): Promise<void> {
  // @ts-expect-error irreversible needs params, action and consequence
  await session.tool({ ...base, irreversible: true }, () => 1);
  // @ts-expect-error high risk cannot go unasked
  await session.tool({ ...base, risk: "high" }, () => 1);
  // @ts-expect-error an action alone does not show what will be done
  await session.tool({ ...base, irreversible: true, action: "Transfer.", consequence: "Gone." }, () => 1);
  // @ts-expect-error params and an action, but what follows from it is missing
  await session.tool({ ...base, irreversible: true, params: { amount: 1 }, action: "Transfer." }, () => 1);
  // @ts-expect-error what may be irreversible cannot be treated as plain
  await session.tool({ ...base, irreversible: maybe }, () => 1);
  await session.tool({ ...base, params: { amount: 500 } }, (params) => {
    expectTypeOf(params.amount).toEqualTypeOf<500>();
    // @ts-expect-error the params of a plain tool cannot be changed either
    params.amount = 1;
  });
  // @ts-expect-error params alone do not make a high risk harmless
  await session.tool({ ...base, params: { amount: 500 }, risk: "high" }, () => 1);

  await session.tool({ ...asked, irreversible: true }, (params) => {
    // @ts-expect-error what was approved cannot be changed
    params.amount = 1;
    // @ts-expect-error nor anything added
    params.note = "x";
  });
  // @ts-expect-error only params that exist can be hidden
  await session.tool({ ...asked, irreversible: true, secret: ["pin"] }, () => 1);
  // @ts-expect-error only params that exist can be changed
  await session.tool({ ...asked, irreversible: true, modifiable: ["to"] }, () => 1);

  const outcome = await session.tool({ ...asked, irreversible: true }, () => "receipt");
  // @ts-expect-error there is no value before `ran` was checked
  outcome.value;
  // @ts-expect-error and no excuse either
  outcome.forModel;

  const question = { action: "Do it.", consequence: "It is done." };
  // @ts-expect-error silence is never consent to what cannot be undone
  await session.confirm({ ...question, irreversible: true, risk: "low", default: "accept" });
  // @ts-expect-error nor to medium risk
  await session.confirm({ ...question, irreversible: false, risk: "medium", default: "accept" });
  // @ts-expect-error nor to high risk
  await session.confirm({ ...question, irreversible: false, risk: "high", default: "accept" });
  // @ts-expect-error nor where nothing was said about it
  await session.confirm({ ...question, default: "accept" });
  // @ts-expect-error what may be irreversible is not harmless
  await session.confirm({ ...question, risk: "low", irreversible: maybe, default: "accept" });

  const confirmed = await session.confirm(question);
  // @ts-expect-error a reason exists only where it was refused
  confirmed.outcome;
  const clarified = await session.clarify({ question: "Which?" });
  // @ts-expect-error there is no response before `answered` was checked
  clarified.response;
}

void misuses;

describe("the types", () => {
  it("say for each tool what its outcome can be", () => {
    const plain = (one: Session) => one.tool({ ...base }, () => 1);
    const async = (one: Session) => one.tool({ ...base }, async () => "x");
    const gated = (one: Session) => one.tool({ ...asked, irreversible: true }, () => 1);
    expectTypeOf(plain).returns.resolves.toEqualTypeOf<Ran<number>>();
    expectTypeOf(async).returns.resolves.toEqualTypeOf<Ran<string>>();
    expectTypeOf(gated).returns.resolves.toEqualTypeOf<ToolOutcome<number>>();
    expectTypeOf<Refusal["outcome"]>().toEqualTypeOf<
      | "rejected"
      | "timed_out"
      | "withdrawn"
      | "disconnected"
      | "nobody_to_ask"
      | "unknown_outcome"
      | "already_done"
    >();
  });
});
