/**
 * Reading what an agent's author wrote, once and by name: what an object inherits, computes or hides counts like what
 * it holds. A copy that takes only what is listed would overlook an `irreversible` that stands on a class.
 */
import type { Params } from "./params.ts";
import type { ClarifySpec, ConfirmSpec, GatedToolSpec } from "./specs.ts";

type Names<Spec> = Readonly<Record<keyof Spec, true>>;

const TOOL: Names<GatedToolSpec<Params>> = {
  tool: true,
  summary: true,
  description: true,
  args_summary: true,
  expected_duration_ms: true,
  timeout_ms: true,
  done: true,
  failed: true,
  risk: true,
  irreversible: true,
  reversibility: true,
  params: true,
  action: true,
  consequence: true,
  labels: true,
  display: true,
  secret: true,
  modifiable: true,
  key: true,
  timeout_seconds: true,
  wait_for_listener_seconds: true,
  signal: true,
};
const CONFIRM: Names<ConfirmSpec & Pick<GatedToolSpec<Params>, "reversibility">> = {
  key: true,
  action: true,
  consequence: true,
  summary: true,
  timeout_seconds: true,
  wait_for_listener_seconds: true,
  signal: true,
  extra_context: true,
  risk: true,
  irreversible: true,
  reversibility: true,
  default: true,
};
const CLARIFY: Names<ClarifySpec> = {
  key: true,
  question: true,
  context: true,
  summary: true,
  kinds: true,
  choices: true,
  default: true,
  timeout_seconds: true,
  wait_for_listener_seconds: true,
  signal: true,
};

function read<Spec extends object>(spec: Spec, names: object): Spec {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(names)) {
    const value = (spec as Record<string, unknown>)[name];
    if (value !== undefined || name in spec) copy[name] = value;
  }
  return copy as Spec;
}

export const readTool = <Spec extends object>(spec: Spec): Spec => read(spec, TOOL);
export const readConfirm = <Spec extends object>(spec: Spec): Spec => read(spec, CONFIRM);
export const readClarify = <Spec extends object>(spec: Spec): Spec => read(spec, CLARIFY);
