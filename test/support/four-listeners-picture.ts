/**
 * The picture of docs/four-listeners: time runs down, one column for each listener, a mark on the column's line where
 * an event arrives and its words beside it. The same as a text with tables, so that it can be read by ear.
 */
import { type Arrival, hearSession, type Listener, wordsOf } from "./four-listeners.ts";

const SHOWN_MS = 10_000;

type Kind = "text" | "session" | "state" | "progress" | "tool" | "question";

const NAMES: Record<Kind, string> = {
  text: "text",
  session: "session",
  state: "state",
  progress: "progress",
  tool: "tool",
  question: "question",
};

function kindOf({ event, critical }: Arrival): Kind {
  if (critical) return "question";
  if (event.type === "aaep:agent.output.streaming") return "text";
  return event.type.split(".")[1] as Kind;
}

const seconds = (ms: number): string => (ms / 1000).toFixed(2);
const quoted = (arrival: Arrival): string =>
  kindOf(arrival) === "text" ? `“${wordsOf(arrival).trim()}”` : wordsOf(arrival);

export interface Pictures {
  readonly svg: string;
  readonly markdown: string;
}

export async function drawPictures(): Promise<Pictures> {
  const heard = await hearSession();
  return { svg: drawSvg(heard), markdown: writeMarkdown(heard) };
}

type Heard = Awaited<ReturnType<typeof hearSession>>;

// The picture.

const WIDTH = 1240;
const AXIS = 64;
const COLUMN = (WIDTH - AXIS - 16) / 4;
const TOP = 176;
const PER_SECOND = 150;
const LINE = 17;
const GAP = 3;
/** A safe guess of a character's width at 14 px. */
const CHARACTER = 7.3;

const INK = "#14181f";
const QUIET_INK = "#4a5260";
const LINE_INK = "#c3c9d4";
const COLORS: Record<Kind, string> = {
  text: "#14181f",
  session: "#14181f",
  state: "#5b4300",
  progress: "#4a5260",
  tool: "#0b5345",
  question: "#9c1020",
};

const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function wrap(text: string, width: number): string[] {
  const most = Math.floor(width / CHARACTER);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > most) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  lines.push(line);
  return lines;
}

interface Card {
  readonly arrival: Arrival;
  readonly kind: Kind;
  readonly lines: readonly string[];
  readonly height: number;
  /** Where the mark is. */
  readonly at: number;
  /** Where the words are: near the mark, moved as little as possible so that nothing overlaps. */
  top: number;
}

/** Least squares under an order: neighbours that would overlap move together. */
function spread(cards: readonly Card[], from: number): void {
  const blocks: { sum: number; count: number }[] = [];
  let offset = 0;
  const offsets: number[] = [];
  for (const { at, height } of cards) {
    offsets.push(offset);
    blocks.push({ sum: at - LINE / 2 - offset, count: 1 });
    offset += height + GAP;
    for (;;) {
      const last = blocks.at(-1)!;
      const before = blocks.at(-2);
      if (!before || before.sum / before.count <= last.sum / last.count) break;
      before.sum += last.sum;
      before.count += last.count;
      blocks.pop();
    }
  }
  let index = 0;
  for (const { sum, count } of blocks) {
    for (let i = 0; i < count; i++, index++)
      cards[index]!.top = Math.max(from, sum / count) + offsets[index]!;
  }
}

const yOf = (ms: number): number => TOP + (ms / 1000) * PER_SECOND;

function cardsOf(arrivals: readonly Arrival[]): Card[] {
  const cards = arrivals.map((arrival): Card => {
    const kind = kindOf(arrival);
    // Bold letters are wider, and their box has a margin.
    const lines = wrap(quoted(arrival), kind === "question" ? (COLUMN - 76) * 0.86 : COLUMN - 62);
    const height = (lines.length + (kind === "question" ? 1 : 0)) * LINE + (kind === "question" ? 14 : 0);
    return { arrival, kind, lines, height, at: yOf(arrival.at), top: 0 };
  });
  // What came before a question stands above its instant, the question and what follows below it.
  const asked = cards.findIndex(({ kind }) => kind === "question");
  const before = asked < 0 ? cards : cards.slice(0, asked);
  spread(before, TOP - LINE / 2);
  if (asked < 0) return cards;
  spread(cards.slice(asked), cards[asked]!.at + 6);
  let limit = cards[asked]!.at - 4;
  for (const card of before.reverse()) {
    card.top = Math.min(card.top, limit - card.height);
    limit = card.top - GAP;
  }
  return cards;
}

/** A shape for each kind: colour is never the only difference. */
function mark(kind: Kind, x: number, y: number): string {
  const color = COLORS[kind];
  switch (kind) {
    case "text":
      return `<circle cx="${x}" cy="${y}" r="4" fill="${color}"/>`;
    case "state":
      return `<circle cx="${x}" cy="${y}" r="4" fill="#fff" stroke="${color}" stroke-width="2"/>`;
    case "progress":
      return `<path d="M${x - 5} ${y}h10" stroke="${color}" stroke-width="3"/>`;
    case "tool":
      return `<rect x="${x - 4}" y="${y - 4}" width="8" height="8" fill="${color}"/>`;
    case "session":
      return `<path d="M${x - 5} ${y - 5}h10l-5 10z" fill="${color}"/>`;
    case "question":
      return `<path d="M${x} ${y - 8}l8 8l-8 8l-8 -8z" fill="${color}"/>`;
  }
}

const round = (value: number): number => Math.round(value * 10) / 10;

function drawCard({ arrival, kind, lines, height, at, top }: Card, x: number): string {
  const parts: string[] = [];
  const left = x + 34;
  const middle = round(top + (kind === "question" ? height / 2 : LINE / 2));
  const y = round(at);
  const color = COLORS[kind];
  parts.push(
    `<path d="M${x + 6} ${y}h4L${x + 26} ${middle}h5" fill="none" stroke="${kind === "question" ? color : LINE_INK}" stroke-width="${kind === "question" ? 2 : 1}"/>`,
  );
  parts.push(mark(kind, x, y));
  let baseline = top + 13;
  const weight = kind === "text" ? "" : ' font-style="italic"';
  if (kind === "question") {
    parts.push(
      `<rect x="${left - 4}" y="${round(top + 1)}" width="${round(COLUMN - 58)}" height="${height - 2}" rx="5" fill="#fff3f2" stroke="${color}" stroke-width="2"/>`,
    );
    baseline += 7;
    const label = (arrival.event as { reply_token?: string }).reply_token
      ? "Question, reply here"
      : "Question, no reply here";
    parts.push(
      `<text x="${left + 5}" y="${round(baseline)}" font-size="13" font-weight="700" fill="${color}">${label}</text>`,
    );
    baseline += LINE;
  }
  for (const [index, line] of lines.entries()) {
    const where = `x="${kind === "question" ? left + 5 : left}" y="${round(baseline + index * LINE)}"`;
    parts.push(
      kind === "question"
        ? `<text ${where} font-weight="700" fill="${INK}">${escapeXml(line)}</text>`
        : `<text ${where}${weight} class="halo" fill="${color}">${escapeXml(line)}</text>`,
    );
  }
  return parts.join("\n");
}

function drawSvg(heard: Heard): string {
  const columns = heard.map(({ listener, arrivals }) => {
    const shown = arrivals.filter(({ at }) => at <= SHOWN_MS);
    return { listener, shown, later: arrivals.slice(shown.length), cards: cardsOf(shown) };
  });
  const end = yOf(SHOWN_MS);
  const lowest = Math.max(
    end + 14,
    ...columns.flatMap(({ cards }) => cards.map(({ top, height }) => top + height + 8)),
  );
  const most = Math.max(1, ...columns.map(({ later }) => later.length));
  const legendY = lowest + 44 + most * LINE + 36;
  const height = Math.ceil(legendY + 34);
  const out: string[] = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title desc" font-family="'Segoe UI', 'Noto Sans', 'DejaVu Sans', Helvetica, Arial, sans-serif" font-size="14">`,
    `<title id="title">The same ten seconds of one session, as four listeners get them</title>`,
    `<desc id="desc">${escapeXml(description(heard))}</desc>`,
    // Lines never run through words.
    `<style>.halo { paint-order: stroke; stroke: #fff; stroke-width: 5px; stroke-linejoin: round; }</style>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="16" y="36" font-size="24" font-weight="700" fill="${INK}">The same ten seconds, as four listeners get them</text>`,
    `<text x="16" y="60" font-size="15" fill="${QUIET_INK}">An agent is asked to move $500 to savings. Time runs down. A mark is an event that arrives; its text is next to it.</text>`,
  ];
  for (let second = 0; second <= SHOWN_MS / 1000; second++) {
    const y = yOf(second * 1000);
    out.push(
      `<path d="M${AXIS - 8} ${y}H${WIDTH - 12}" stroke="#e6e9ef" stroke-width="1"/>`,
      `<text x="${AXIS - 16}" y="${y + 5}" text-anchor="end" font-weight="600" fill="${QUIET_INK}">${second} s</text>`,
    );
  }
  const asked = heard[0]!.arrivals.find(({ critical }) => critical)!.at;
  out.push(
    `<path d="M${AXIS - 8} ${yOf(asked)}H${WIDTH - 12}" stroke="${COLORS.question}" stroke-width="1.5" stroke-dasharray="5 4"/>`,
  );
  for (const [index, { listener, shown, later, cards }] of columns.entries()) {
    const left = AXIS + index * COLUMN;
    const x = round(left + 14);
    out.push(
      `<g>`,
      `<rect x="${round(left)}" y="78" width="${round(COLUMN - 12)}" height="80" rx="6" fill="#eef2f8"/>`,
      `<text x="${round(left + 12)}" y="101" font-size="17" font-weight="700" fill="${INK}">${listener.name}</text>`,
      ...listener.asks.map(
        (line, at) =>
          `<text x="${round(left + 12)}" y="${120 + at * 16}" font-size="13" fill="${QUIET_INK}">${escapeXml(line)}</text>`,
      ),
      `<text x="${round(left + COLUMN - 24)}" y="101" text-anchor="end" font-size="15" font-weight="700" fill="${INK}">${shown.length} events</text>`,
      `<path d="M${x} ${TOP - 10}V${round(end + 10)}" stroke="#8b94a3" stroke-width="2"/>`,
      ...cards.map((card) => drawCard(card, x)),
      ...drawPause(listener, cards, x, end),
      `<text x="${round(left + 12)}" y="${round(lowest + 22)}" font-size="13" font-weight="700" fill="${QUIET_INK}">${later.length > 0 ? "After the ten seconds" : "Nothing left to come"}</text>`,
      ...later.map(
        (arrival, at) =>
          `<text x="${round(left + 12)}" y="${round(lowest + 44 + at * LINE)}" font-size="13" fill="${QUIET_INK}">${seconds(arrival.at)} s  ${escapeXml(shorten(quoted(arrival)))}</text>`,
      ),
      `</g>`,
    );
  }
  out.push(`<path d="M16 ${legendY - 24}H${WIDTH - 16}" stroke="#e6e9ef"/>`);
  const legend: [Kind, string][] = [
    ["session", "session starts, ends"],
    ["state", "state"],
    ["progress", "progress"],
    ["tool", "tool"],
    ["text", "streamed text"],
    ["question", "question: reaches everyone in the same instant, after all that came before it"],
  ];
  let x = 28;
  for (const [kind, label] of legend) {
    out.push(
      mark(kind, x, legendY),
      `<text x="${x + 14}" y="${legendY + 5}" font-size="13" fill="${INK}">${label}</text>`,
    );
    x += 44 + label.length * 7;
  }
  out.push("</svg>", "");
  return out.join("\n");
}

/** Where a paced listener is left in peace, the picture says so. */
function drawPause({ capabilities }: Listener, cards: readonly Card[], x: number, end: number): string[] {
  const last = cards.at(-1)!;
  const from = last.top + last.height;
  if (capabilities.pace_wpm === undefined || end - from < 2 * PER_SECOND) return [];
  const middle = round((from + end) / 2);
  return [
    `<path d="M${x + 22} ${round(from + 24)}V${round(end - 12)}" stroke="#8b94a3" stroke-width="2" stroke-dasharray="2 6" stroke-linecap="round"/>`,
    ...["Time to read what has come.", "Nothing is lost: the rest", "follows, in order."].map(
      (line, index) =>
        `<text x="${x + 36}" y="${middle + (index - 1) * LINE}" class="halo" fill="${QUIET_INK}">${line}</text>`,
    ),
  ];
}

const shorten = (text: string): string => (text.length > 27 ? `${text.slice(0, 26)}…` : text);

function description(heard: Heard): string {
  const [first] = heard;
  const asked = first!.arrivals.find(({ critical }) => critical)!.at / 1000;
  const counts = heard.map(({ listener, arrivals }) => {
    const shown = arrivals.filter(({ at }) => at <= SHOWN_MS).length;
    const later = arrivals.length - shown;
    return `${listener.name}: ${shown} events${later > 0 ? `, and ${later} more later` : ""}.`;
  });
  return `Four columns with time running down. ${counts.join(" ")} The question whether to move the money reaches all four at ${asked} seconds, after everything said before it. Everything in the picture is in the tables of four-listeners.md.`;
}

// The text.

/** One line for each field. */
const writeJson = (value: object): string =>
  `{\n${Object.entries(value)
    .map(
      ([name, field]) =>
        `  "${name}": ${JSON.stringify(field).replaceAll(",", ", ").replaceAll('":', '": ')}`,
    )
    .join(",\n")}\n}`;

function writeMarkdown(heard: Heard): string {
  const out = [
    "<!-- Written by npm run picture. Do not edit. -->",
    "",
    "# The same ten seconds, as four listeners get them",
    "",
    "An agent is asked to move $500 to savings. It looks up the balance, explains, asks before it moves anything, gets a",
    "yes, moves the money and says so. All of it is written to one log. The tables show what each of four listeners receives, and",
    "when, in seconds from the start. [The picture](four-listeners.svg) shows the same, and [How delivery works](delivery.md)",
    "explains why.",
    "",
    "![Four columns, one for each listener, with time running down. The tables below contain the same.](four-listeners.svg)",
    "",
    "In short:",
    "",
  ];
  for (const { listener, arrivals } of heard) {
    const shown = arrivals.filter(({ at }) => at <= SHOWN_MS).length;
    const later = arrivals.length - shown;
    out.push(
      `- **${listener.name}** (${listener.asks.join("; ")}): ${shown} events in ten seconds${later > 0 ? `, ${later} more after that` : ""}.`,
    );
  }
  out.push(
    "",
    "All four get the question at the same instant, and each has by then received everything that was said before it.",
    "What a slow listener has not received after ten seconds still comes, in order.",
  );
  for (const { listener, arrivals } of heard) {
    out.push(
      "",
      `## ${listener.name}`,
      "",
      "It asks for:",
      "",
      "```json",
      writeJson(listener.capabilities),
      "```",
      "",
      "| Seconds | Kind | What arrives |",
      "|--:|---|---|",
      ...arrivals.map((arrival) => {
        const answer =
          arrival.critical && !(arrival.event as { reply_token?: string }).reply_token
            ? " (for information only: no reply token)"
            : "";
        const kind = `${NAMES[kindOf(arrival)]}${answer}`;
        return `| ${seconds(arrival.at)} | ${kind} | ${quoted(arrival).replaceAll("|", "\\|")} |`;
      }),
    );
  }
  return `${out.join("\n")}\n`;
}
