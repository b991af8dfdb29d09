/** All commands, each loaded when it is called. */
import type { Command, Flags } from "./command.ts";

export interface Listed {
  readonly summary: string;
  load(): Promise<Command<Flags>>;
}

const listed = (summary: string, load: () => Promise<{ default: unknown }>): Listed => ({
  summary,
  load: async () => (await load()).default as Command<Flags>,
});

export const COMMANDS: Readonly<Record<string, Listed>> = {
  demo: listed("Start the demo agent on this machine.", () => import("./commands/demo.ts")),
  listen: listed("Hear an agent, and answer it.", () => import("./commands/listen.ts")),
  ask: listed("Send the demo agent a request.", () => import("./commands/ask.ts")),
  serve: listed("Run your own agent from a module.", () => import("./commands/serve.ts")),
  validate: listed("Check messages and streams.", () => import("./commands/validate.ts")),
  capture: listed("Record what an agent sends.", () => import("./commands/capture.ts")),
  replay: listed("Serve a recording again.", () => import("./commands/replay.ts")),
  log: listed("Show, back up or restore an agent's log.", () => import("./commands/log.ts")),
  audit: listed("Verify, export or show the audit record.", () => import("./commands/audit.ts")),
  keys: listed("Create a key for signing manifests.", () => import("./commands/keys.ts")),
  manifest: listed("Print, sign or verify a manifest.", () => import("./commands/manifest.ts")),
  doctor: listed("Check what works on this machine.", () => import("./commands/doctor.ts")),
  completion: listed("Print a shell completion script.", () => import("./commands/completion.ts")),
};
