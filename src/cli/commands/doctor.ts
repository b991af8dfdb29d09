/** `earshot doctor`: what works on this machine, what does not, and what to do about it. */
import { command, EXIT } from "../command.ts";
import { examineMachine, type Finding } from "../tools/checks.ts";
import { printed } from "../tools/output.ts";

const WORDS: Readonly<Record<Finding["state"], string>> = { ok: "OK", missing: "Missing", wrong: "Wrong" };

export default command({
  about:
    "Looks at what Earshot can use on this machine: speech, braille, a browser, sockets, tokens, running agents. It changes nothing and sends nothing anywhere else.",
  flags: {
    json: { type: "boolean", help: "One JSON object per finding: about, state, found, advice." },
  },
  examples: [
    ["earshot doctor", "Says what works, what is missing and what to do about it."],
    ["earshot doctor --json", "The same for programs."],
  ],
  exits: [
    [0, "Nothing is wrong, though something may be missing."],
    [1, "Something must be mended."],
  ],
  async run({ flags, io }) {
    let [missing, wrong] = [0, 0];
    for await (const finding of examineMachine(io)) {
      const { about, state, found, advice } = finding;
      if (state === "missing") missing++;
      if (state === "wrong") wrong++;
      const sentence = `${WORDS[state]}: ${about}. ${found}${advice === undefined ? "" : ` ${advice}`}`;
      await printed(io, flags.json ? JSON.stringify(finding) : sentence);
    }
    io.signal.throwIfAborted();
    if (!flags.json)
      await printed(
        io,
        wrong > 0
          ? `To be mended: ${wrong}. Missing: ${missing}.`
          : missing > 0
            ? `Nothing is wrong. Missing: ${missing}; each matters only for what it names.`
            : "Everything is there.",
      );
    return wrong > 0 ? EXIT.failed : EXIT.ok;
  },
});
