// Heights of step bars: typical steps fill the chart, much longer ones are cut off.

export type StepRow = {
  step: number;
  start: number;
  seconds: number;
  phases: Record<string, number>;
  profiled: boolean;
};

const OUTLIER_FACTOR = 3;

/** The value at the top of the chart: the longest step that is not an outlier. */
export function stepCeiling(seconds: readonly number[], median: number | null): number {
  const typical = median ?? [...seconds].sort((a, b) => a - b)[seconds.length >> 1] ?? 1;
  const near = seconds.filter((value) => value <= typical * OUTLIER_FACTOR);
  return Math.max(typical * 1.2, ...near.map((value) => value * 1.05)) || 1;
}

/** Phases in the order of a training step, custom phases last. */
export function phaseOrder(rows: readonly StepRow[]): string[] {
  const standard = ["data_wait", "forward", "backward", "optimizer"];
  const names = new Set(rows.flatMap((row) => Object.keys(row.phases)));
  const custom = [...names].filter((name) => !standard.includes(name) && name !== "between").sort();
  return [
    ...standard.filter((name) => names.has(name)),
    ...custom,
    ...(names.has("between") ? ["between"] : []),
  ];
}

/** Heights of the segments of a bar in percent of the chart, from the bottom; bars above the top are scaled to fit. */
export function barSegments(
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

/** Cut-off bars that get a label with their time: the longest first, without overlaps. */
export function labeledBars(rows: readonly StepRow[], ceiling: number): Set<number> {
  const cut = rows
    .flatMap((row, i) => (row.seconds > ceiling ? [i] : []))
    .sort((a, b) => rows[b]!.seconds - rows[a]!.seconds);
  const labeled = new Set<number>();
  for (const i of cut)
    if (![...labeled].some((index) => Math.abs(index - i) < LABEL_BARS)) labeled.add(i);
  return labeled;
}

/** Bars with a step number below them: the first, the last, and the middle one if there are many. */
export function namedBars(count: number): number[] {
  return count > 8 ? [0, count >> 1, count - 1] : count > 1 ? [0, count - 1] : [0];
}
