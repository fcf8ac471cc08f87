// Several jobs beside each other: the same figures of each, and curves on one axis.

import type { JobDocument, Severity } from "./api";
import { worstOf } from "./judged";
import type { BarsSpec, Cell, Column, Curve, LineSpec, StackedBarsSpec, TableSpec } from "./specs";
import { placeTone } from "./tones";

const WORDS = { note: "", coarsened: "" };

/** One axis for the curves of several jobs; where a job has no value, there is a gap. Each job has one color in all charts. */
export function mergedLines(
  title: string,
  found: readonly { job: string; spec: LineSpec }[],
  jobs: readonly string[],
): LineSpec | null {
  const [first] = found;
  if (!first) return null;
  const x = [...new Set(found.flatMap(({ spec }) => spec.x))]
    .filter((one): one is number => one !== null)
    .sort((a, b) => a - b);
  const place = new Map(x.map((at, index) => [at, index]));
  let free = jobs.length; // colors that no job has
  const curves = found.flatMap(({ job, spec }) =>
    spec.curves.map(
      (curve, index): Curve => ({
        label: spec.curves.length > 1 ? `${job}: ${curve.label}` : job,
        values: spread(spec.x, curve.values, place),
        low: null,
        high: null,
        tone: placeTone(index === 0 ? jobs.indexOf(job) : free++),
      }),
    ),
  );
  return { ...first.spec, ...WORDS, title, x, curves };
}

function spread(
  x: LineSpec["x"],
  values: readonly (number | null)[],
  place: ReadonlyMap<number, number>,
): (number | null)[] {
  const found: (number | null)[] = Array.from({ length: place.size }, () => null);
  x.forEach((at, index) => {
    const target = at === null ? undefined : place.get(at);
    if (target !== undefined) found[target] = values[index] ?? null;
  });
  return found;
}

type Figure = {
  title: string;
  unit: string;
  of: (document: JobDocument) => Cell;
  isCounted?: boolean;
};

const FIGURES: readonly Figure[] = [
  { title: "State", unit: "", of: (one) => one.state },
  { title: "Started", unit: "time", of: (one) => one.start_time },
  { title: "Duration", unit: "seconds", of: (one) => one.duration_seconds },
  { title: "Nodes", unit: "", of: (one) => one.nodes.length, isCounted: true },
  { title: "Workers", unit: "", of: (one) => one.workers.length, isCounted: true },
  { title: "Training steps", unit: "", of: (one) => one.steps.train ?? null },
  { title: "Last loss", unit: "", of: (one) => one.losses.train?.value ?? null },
  { title: "Last eval loss", unit: "", of: (one) => one.losses.eval?.value ?? null },
  {
    title: "Step time, mean",
    unit: "seconds",
    of: (one) => one.phases.train?.seconds.mean ?? null,
  },
  {
    title: "Step time, median",
    unit: "seconds",
    of: (one) => one.phases.train?.seconds.p50 ?? null,
  },
  { title: "Step time, p95", unit: "seconds", of: (one) => one.phases.train?.seconds.p95 ?? null },
  {
    title: "Training loop",
    unit: "seconds",
    of: (one) => one.stages.training_loop?.seconds ?? null,
  },
  {
    title: "Initialization",
    unit: "seconds",
    of: (one) => one.stages.initialization?.seconds ?? null,
  },
  { title: "Findings", unit: "", of: (one) => one.findings.findings.length, isCounted: true },
  { title: "Cost of watching", unit: "percent", of: (one) => one.overhead?.percent ?? null },
];

export type FigureRow = { title: string; unit: string; values: Cell[]; changes: (number | null)[] };

/** A row per figure that any of the jobs has; changes are against the first job, in percent. */
export function figureRows(documents: readonly JobDocument[]): FigureRow[] {
  return FIGURES.map(({ title, unit, of, isCounted }) => {
    const values = documents.map(of);
    return {
      title,
      unit,
      values,
      changes: values.map((value, index) =>
        index === 0 || isCounted ? null : change(values[0], value),
      ),
    };
  }).filter(({ values }) => values.some((value) => value !== null));
}

function change(from: Cell | undefined, to: Cell): number | null {
  if (typeof from !== "number" || typeof to !== "number" || from === 0 || from === to) return null;
  return ((to - from) / Math.abs(from)) * 100;
}

/** The mean step of each job, by phase. */
export function stepBars(documents: readonly JobDocument[]): StackedBarsSpec | null {
  const trained = documents.filter((one) => one.phases.train);
  if (trained.length === 0) return null;
  const phases = [
    ...new Set(trained.flatMap((one) => Object.keys(one.phases.train?.percent ?? {}))),
  ];
  return {
    mark: "stacked_bars",
    title: "Time of a training step by phase",
    ...WORDS,
    unit: "seconds",
    is_horizontal: true,
    labels: trained.map((one) => one.job),
    parts: phases.map((phase) => ({
      label: phase.replaceAll("_", " "),
      tone: phase,
      values: trained.map(
        (one) =>
          ((one.phases.train?.seconds.mean ?? 0) * (one.phases.train?.percent[phase] ?? 0)) / 100,
      ),
    })),
  };
}

/** How much of CPU, GPU and memory each job used: medians of the first node of each. */
export function utilizationBars(
  found: readonly { job: string; spec: TableSpec }[],
  jobs: readonly string[],
): BarsSpec | null {
  const metrics = [
    ...new Set(
      found.flatMap(({ spec }) =>
        spec.rows
          .filter((row) => at(spec.columns, row, "unit") === "percent")
          .map((row) => String(at(spec.columns, row, "metric"))),
      ),
    ),
  ];
  if (metrics.length === 0) return null;
  return {
    mark: "bars",
    title: "Utilization",
    ...WORDS,
    note: "The median over the job, and over its nodes.",
    unit: "percent",
    labels: metrics,
    parts: found.map(({ job, spec }) => ({
      label: job,
      tone: placeTone(jobs.indexOf(job)),
      values: metrics.map((metric) => medianOf(spec, metric)),
    })),
  };
}

function medianOf(spec: TableSpec, metric: string): number | null {
  const values = spec.rows
    .filter((row) => at(spec.columns, row, "metric") === metric)
    .map((row) => at(spec.columns, row, "p50"))
    .filter((value): value is number => typeof value === "number")
    .sort((a, b) => a - b);
  return values[Math.floor(values.length / 2)] ?? null;
}

function at(columns: readonly Column[], row: readonly Cell[], name: string): Cell {
  return row[columns.findIndex((one) => one.name === name)] ?? null;
}

export type FindingRow = {
  rule: string;
  worst: (Severity | null)[];
  triggered: number[];
  asked: boolean[];
};

/** Every rule that found something in any of the jobs, those in the most jobs first. */
export function findingRows(documents: readonly JobDocument[]): FindingRow[] {
  const rules = [
    ...new Set(documents.flatMap((one) => one.findings.findings.map((finding) => finding.rule))),
  ];
  return rules
    .map((rule) => {
      const found = documents.map((one) => one.rules.find((other) => other.rule === rule));
      return {
        rule,
        worst: found.map((one) => (one ? worstOf(one.findings) : null)),
        triggered: found.map((one) => one?.triggered ?? 0),
        asked: found.map((one) => one !== undefined),
      };
    })
    .sort((one, other) => count(other) - count(one) || one.rule.localeCompare(other.rule));
}

function count(row: FindingRow): number {
  return row.worst.filter((one) => one !== null).length;
}
