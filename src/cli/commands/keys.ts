/** `earshot keys`: creates a key for signing manifests, so that listeners can detect an impostor. */
import { calculateJwkThumbprint } from "jose";
import { generateSigningKey } from "../../server/index.ts";
import { command, EXIT, print, say, usage } from "../command.ts";
import { isPrivate, publicHalf, readKeys, writeKey } from "../key-files.ts";

export default command({
  takes: "[key-file]",
  most: 1,
  about:
    "Creates an ES256 key for signing manifests, or prints the public half of an existing one. The private key goes into a file that only you can read. The printed public key may be given to anyone.",
  flags: {
    output: {
      type: "string",
      short: "o",
      value: "FILE",
      help: "Create a new key and store it in this file.",
    },
    kid: {
      type: "string",
      value: "NAME",
      help: "Key id; by default derived from the key.",
    },
    jwk: { type: "boolean", help: "Print the public key as a JWK, not as a JWKS." },
  },
  examples: [
    [
      "earshot keys -o signing-key.json > public-keys.json",
      "Creates a key, and a file with its public half to publish.",
    ],
    ["earshot keys signing-key.json", "Prints the public half of an existing key."],
  ],
  exits: [
    [0, "Done."],
    [2, "The command line is wrong, the file cannot be read, or it already exists."],
  ],
  async run({ args: [file], flags, io }) {
    if ((file === undefined) === (flags.output === undefined))
      throw usage(
        "Give either -o FILE to create a key, or the file of an existing one. For example: earshot keys -o signing-key.json",
      );
    const show = (keys: readonly object[]) =>
      print(io, JSON.stringify(flags.jwk ? keys[0] : { keys }, undefined, 2));
    if (file !== undefined) {
      if (flags.kid !== undefined) throw usage("--kid is only for a new key; an existing key keeps its id.");
      const { keys } = await readKeys(io, file);
      show(keys.map(publicHalf));
      if (!keys.some(isPrivate)) say(io, `${file} contains only public keys, which cannot sign.`);
      return EXIT.ok;
    }
    if (flags.kid === "") throw usage("--kid needs a value, such as planner-2026.");
    const { privateKey } = await generateSigningKey(flags.kid ?? "");
    const kid = flags.kid ?? (await calculateJwkThumbprint(privateKey)).slice(0, 16);
    await writeKey(io, flags.output!, { ...privateKey, kid });
    show([publicHalf({ ...privateKey, kid })]);
    say(
      io,
      `The private key is in ${flags.output}. Only you can read it. Keep it secret, and publish the key printed above.`,
    );
    say(io, `To sign with it: npx earshot manifest http://127.0.0.1:4600 --sign ${flags.output}`);
    return EXIT.ok;
  },
});
