/** Benchmarks print a table for people; with --json the last line is one object for machines. */
export interface Report {
  name: string;
  figures: Record<string, number>;
  ratios: Record<string, number>;
}

const round = (value: number) => (Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));

export function print(report: Report, goals: Record<string, string> = {}): void {
  const rows = [
    ...Object.entries(report.figures).map(([name, value]) => [
      name,
      round(value).toLocaleString("en-US"),
      "",
    ]),
    ...Object.entries(report.ratios).map(([name, value]) => [
      `ratio ${name}`,
      String(round(value)),
      goals[name] ?? "",
    ]),
  ];
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  console.log(`benchmark: ${report.name}`);
  for (const [name, value, goal] of rows) {
    console.log(
      `  ${name!.padEnd(widths[0]!)}  ${value!.padStart(widths[1]!)}${goal ? `   goal ${goal}` : ""}`,
    );
  }
  if (process.argv.includes("--json")) {
    const rounded = (entries: Record<string, number>) =>
      Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, round(value)]));
    console.log(
      JSON.stringify({ name: report.name, figures: rounded(report.figures), ratios: rounded(report.ratios) }),
    );
  }
}

/** CPU microseconds this process spends in `work`. */
export function cpuMicroseconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** NaN where nothing was measured. */
export const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? NaN;
