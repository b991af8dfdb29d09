/** `earshot keys`: a key for signing manifests, so that listeners can tell an agent from one that pretends. */
import { calculateJwkThumbprint } from "jose";
import { generateSigningKey } from "../../server/index.ts";
import { command, EXIT, print, say, usage } from "../command.ts";
import { isPrivate, publicHalf, readKeys, writeKey } from "../key-files.ts";

export default command({
  takes: "[key-file]",
  most: 1,
  about:
    "Makes an ES256 key for signing manifests, or prints the public half of one. The private key goes into a file that you alone can read; what is printed may be given to anyone.",
  flags: {
    output: { type: "string", short: "o", value: "FILE", help: "Make a new key and keep it in this file." },
    kid: {
      type: "string",
      value: "NAME",
      help: "What the key is called; made from the key itself by default.",
    },
    jwk: { type: "boolean", help: "Print the public key alone, not as a set." },
  },
  examples: [
    [
      "earshot keys -o signing-key.json > public-keys.json",
      "Makes a key, and a file with its public half to give away.",
    ],
    ["earshot keys signing-key.json", "Prints the public half of a key you have."],
  ],
  exits: [
    [0, "Done."],
    [2, "The command line is wrong, the file cannot be read, or it is there already."],
  ],
  async run({ args: [file], flags, io }) {
    if ((file === undefined) === (flags.output === undefined))
      throw usage(
        "Give either -o FILE to make a key, or the file of one you have. For example: earshot keys -o signing-key.json",
      );
    const show = (keys: readonly object[]) =>
      print(io, JSON.stringify(flags.jwk ? keys[0] : { keys }, undefined, 2));
    if (file !== undefined) {
      if (flags.kid !== undefined) throw usage("--kid names a new key; one you have keeps its name.");
      const { keys } = await readKeys(io, file);
      show(keys.map(publicHalf));
      if (!keys.some(isPrivate)) say(io, `${file} holds public keys only; nothing can be signed with it.`);
      return EXIT.ok;
    }
    if (flags.kid === "") throw usage("--kid needs a name, such as planner-2026.");
    const { privateKey } = await generateSigningKey(flags.kid ?? "");
    const kid = flags.kid ?? (await calculateJwkThumbprint(privateKey)).slice(0, 16);
    await writeKey(io, flags.output!, { ...privateKey, kid });
    show([publicHalf({ ...privateKey, kid })]);
    say(
      io,
      `The private key is in ${flags.output}, readable by you alone. Keep it safe, and give away what was printed.`,
    );
    say(io, `Sign with it: npx earshot manifest http://127.0.0.1:4600 --sign ${flags.output}`);
    return EXIT.ok;
  },
});
