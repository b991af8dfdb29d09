import { CommandError, command } from "../command.ts";

export default command({
  about: "Not built yet.",
  flags: {},
  examples: [],
  async run(): Promise<number> {
    throw new CommandError("earshot doctor is not built yet.");
  },
});
