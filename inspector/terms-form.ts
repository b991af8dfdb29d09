/** The capability editor: what a listener asks for, changed while it listens. */
import type { Boundary, Capabilities, CognitiveLoad, Verbosity } from "../src/protocol/index.ts";
import { byId, make, tellStatus } from "./dom.ts";
import { type ListenerKind, NO_LIMIT, RAW, termsIn } from "./listeners.ts";

const BOUNDARIES: readonly Boundary[] = ["none", "word", "sentence", "paragraph", "completion"];
const QUIET = ["aaep:agent.state.*", "aaep:agent.progress.*"];

const field = (id: string): HTMLInputElement => byId<HTMLInputElement>(id);
const boundary = (name: Boundary): HTMLInputElement => field(`boundary-${name}`);

function show(wish: Capabilities): void {
  const rate = wish.max_events_per_second ?? NO_LIMIT;
  byId<HTMLSelectElement>("verbosity").value = wish.preferred_verbosity ?? "normal";
  byId<HTMLSelectElement>("load").value = wish.cognitive_load ?? "medium";
  field("rate").value = rate >= NO_LIMIT ? "" : String(rate);
  field("pace").value = wish.pace_wpm === undefined ? "" : String(wish.pace_wpm);
  field("languages").value = (wish.languages ?? []).join(", ");
  for (const name of BOUNDARIES) boundary(name).checked = wish.coalesce_boundaries?.includes(name) ?? false;
  field("quiet").checked = (wish.event_filters?.exclude ?? []).length > 0;
}

const tags = (): string[] =>
  field("languages")
    .value.split(/[\s,]+/)
    .filter((tag) => tag !== "");

/** The first that is no language tag, if there is one: an agent would refuse all of it. */
const wrongTag = (): string | undefined =>
  tags().find((tag) => {
    try {
      return Intl.getCanonicalLocales(tag).length !== 1;
    } catch {
      return true;
    }
  });

function read(): Capabilities {
  const pace = field("pace").value;
  const cut = BOUNDARIES.filter((name) => boundary(name).checked);
  return {
    preferred_verbosity: byId<HTMLSelectElement>("verbosity").value as Verbosity,
    cognitive_load: byId<HTMLSelectElement>("load").value as CognitiveLoad,
    max_events_per_second: field("rate").value === "" ? NO_LIMIT : Number(field("rate").value),
    languages: tags(),
    coalesce_boundaries: cut.length > 0 ? cut : ["completion"],
    event_filters: { include: ["*"], exclude: field("quiet").checked ? QUIET : [] },
    ...(pace === "" ? {} : { pace_wpm: Number(pace) }),
  };
}

/** Raw is not among them: findings are made from it, and they need everything. */
export function setUpTermsForm(
  kinds: readonly ListenerKind[],
  ask: (column: number, wish: Capabilities) => Promise<Capabilities>,
): void {
  const choice = byId<HTMLSelectElement>("listener");
  kinds.forEach(({ name }, index) => {
    if (index !== RAW) choice.append(make("option", { value: String(index) }, name));
  });
  byId("boundaries").append(
    ...BOUNDARIES.map((name) =>
      make(
        "label",
        { class: "switch" },
        make("input", { type: "checkbox", id: `boundary-${name}` }),
        ` ${name}`,
      ),
    ),
  );
  const wishes = kinds.map(({ capabilities }) => capabilities);
  const chosen = () => Number(choice.value);
  choice.addEventListener("change", () => show(wishes[chosen()]!));
  show(wishes[chosen()]!);
  byId("terms-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const column = chosen();
    const wrong = wrongTag();
    field("languages").setAttribute("aria-invalid", String(wrong !== undefined));
    if (wrong !== undefined) {
      field("languages").focus();
      return tellStatus(`"${wrong}" is no language. Write tags such as en-US, ar or yo, best first.`);
    }
    const wish = read();
    const { name } = kinds[column]!;
    ask(column, wish).then(
      (agreed) => {
        wishes[column] = { ...wishes[column], ...wish };
        tellStatus(`${name}: agreed on ${termsIn(agreed)}.`);
      },
      (error: unknown) => tellStatus(`${name}: nothing was changed. ${(error as Error).message}`),
    );
  });
}
