/** One address string for each place on the desk; and a named pipe, as far as there is one without Windows. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import { serveIpc } from "../../src/server/ipc/ipc.ts";
import { socketPath, splitCommand } from "../../src/subscriber/connect.ts";
import { subscribe } from "../../src/subscriber/index.ts";

let directory = "";
const agent = () => createProducer({ agent_id: "com.example.desk", agent_name: "Desk", warn: () => {} });

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "desk-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("addresses", () => {
  it("name sockets, pipes and commands, and nothing is expanded", () => {
    expect(socketPath("unix:/run/a.sock")).toBe("/run/a.sock");
    expect(socketPath("unix:///run/a.sock")).toBe("/run/a.sock");
    expect(socketPath("pipe:planner")).toBe("\\\\.\\pipe\\aaep\\planner");
    expect(socketPath("pipe:\\\\.\\pipe\\other")).toBe("\\\\.\\pipe\\other");
    expect(splitCommand(`node "my agent.mjs" --name='a "b"' $HOME ";"`)).toEqual([
      "node",
      "my agent.mjs",
      `--name=a "b"`,
      "$HOME",
      ";",
    ]);
    expect(() => splitCommand(" ")).toThrow(/needs a command/);
    expect(() => splitCommand("node 'x")).toThrow(/not closed/);
  });

  it("that cannot be reached say what to do; of several, the first that can is used (TRN-14)", async () => {
    await expect(subscribe(`unix:${directory}/none.sock`)).rejects.toThrow(/Start the agent/);
    await expect(subscribe("stdio:/nowhere/agent")).rejects.toThrow(/could not be started/);
    const serving = await serveIpc(agent(), { directory, log: () => {} });
    const { address } = serving;
    const sub = await subscribe([`unix:${directory}/none.sock`, "stdio:/nowhere/agent", address]);
    expect(sub.id).toMatch(/^sub_/);
    await sub.close();
    await serving.close();
  });
});

describe("a named pipe", () => {
  it("takes the path of a pipe wherever there are none, as far as the operating system's no", async () => {
    // Linux takes the name for a file's; what can be seen here is that no directory is made and no manifest written for it.
    const cwd = process.cwd();
    process.chdir(directory);
    try {
      const serving = await serveIpc(agent(), { path: "\\\\.\\pipe\\aaep\\planner", log: () => {} });
      expect(serving).toMatchObject({ address: "pipe:\\\\.\\pipe\\aaep\\planner", manifestPath: undefined });
      const sub = await subscribe(serving.address);
      await expect(
        serveIpc(agent(), { path: "\\\\.\\pipe\\aaep\\planner", log: () => {} }),
      ).rejects.toMatchObject({ code: "socket_in_use" });
      await sub.close();
      await serving.close();
      expect(readdirSync(directory)).toEqual([]);
    } finally {
      process.chdir(cwd);
    }
  });
});
