// How high the bars of steps are: usual steps fill the chart, far longer ones are cut, and show it.

export type StepRow = {
  step: number;
  start: number;
  seconds: number;
  phases: Record<string, number>;
  profiled: boolean;
};

const FAR = 3;

/** The value at the top of the chart: the longest step that is not far beyond the median. */
export function stepCeiling(seconds: readonly number[], median: number | null): number {
  const usual = median ?? [...seconds].sort((a, b) => a - b)[seconds.length >> 1] ?? 1;
  const near = seconds.filter((value) => value <= usual * FAR);
  return Math.max(usual * 1.2, ...near.map((value) => value * 1.05)) || 1;
}

/** Phases in the order in which they take time in a step, those of one's own last. */
export function phaseOrder(rows: readonly StepRow[]): string[] {
  const known = ["data_wait", "forward", "backward", "optimizer"];
  const found = new Set(rows.flatMap((row) => Object.keys(row.phases)));
  const own = [...found].filter((name) => !known.includes(name) && name !== "between").sort();
  return [
    ...known.filter((name) => found.has(name)),
    ...own,
    ...(found.has("between") ? ["between"] : []),
  ];
}

/** Heights of a bar's parts in percent of the chart, from the bottom; a bar beyond the top is squeezed into it. */
export function barParts(
  row: StepRow,
  order: readonly string[],
  ceiling: number,
): { name: string; percent: number }[] {
  const total = Math.max(
    row.seconds,
    Object.values(row.phases).reduce((sum, value) => sum + value, 0),
  );
  const squeeze = total > ceiling ? ceiling / total : 1;
  return order.flatMap((name) => {
    const seconds = row.phases[name] ?? 0;
    return seconds > 0 ? [{ name, percent: ((seconds * squeeze) / ceiling) * 100 }] : [];
  });
}

const LABEL_BARS = 3;

/** Which bars beyond the top carry their time: the longest first, and none so near another that they touch. */
export function labeledBars(rows: readonly StepRow[], ceiling: number): Set<number> {
  const cut = rows
    .flatMap((row, i) => (row.seconds > ceiling ? [i] : []))
    .sort((a, b) => rows[b]!.seconds - rows[a]!.seconds);
  const labeled = new Set<number>();
  for (const i of cut)
    if (![...labeled].some((other) => Math.abs(other - i) < LABEL_BARS)) labeled.add(i);
  return labeled;
}

/** Which of some bars have their number below them: the first, the last, and one between where they are many. */
export function namedBars(count: number): number[] {
  return count > 8 ? [0, count >> 1, count - 1] : count > 1 ? [0, count - 1] : [0];
}
