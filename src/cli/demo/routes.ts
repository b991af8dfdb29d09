/** `POST /demo/sessions`: something for the demo to do, from a script or a page. */
import { EarshotError } from "../../index.ts";
import type { Routes } from "../../server/index.ts";
import type { Demo } from "./agent.ts";

export const DEMO_PATH = "/demo/sessions";
const EXAMPLE = 'Send JSON such as {"text":"book a room"}, or {"scenario":"flood"}.';

const refuse = (status: number, error: string, message: string, headers: Record<string, string> = {}) =>
  Response.json({ error, message }, { status, headers });

export const demoRoutes =
  (demo: Demo): Routes =>
  async (request) => {
    if (new URL(request.url).pathname !== DEMO_PATH) return undefined;
    if (request.method !== "POST")
      return refuse(405, "method_not_allowed", `Send a POST here. ${EXAMPLE}`, { allow: "POST" });
    let body: unknown;
    try {
      body = await request.json();
    } catch {
      return refuse(400, "bad_request", `That is no JSON. ${EXAMPLE}`);
    }
    const { text, scenario } = (typeof body === "object" && body !== null ? body : {}) as Record<
      string,
      unknown
    >;
    if ((typeof text === "string") === (typeof scenario === "string"))
      return refuse(400, "bad_request", `There must be one text, or one scenario. ${EXAMPLE}`);
    try {
      const session_id = typeof text === "string" ? demo.start(text) : demo.play(scenario as string);
      return Response.json({ session_id }, { status: 202 });
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      if (code === "too_many_sessions") return refuse(429, code, message, { "retry-after": "5" });
      if (error instanceof EarshotError) return refuse(400, code ?? "bad_request", message);
      throw error;
    }
  };
