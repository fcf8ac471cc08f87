// Comparison of several jobs: the same figures for each, and curves on a shared axis.

import type { JobDocument, Severity } from "./api";
import { cellText } from "./cells";
import type {
  BarsSpec,
  Cell,
  Column,
  Curve,
  LineChartSpec,
  StackedBarsSpec,
  TableSpec,
} from "./generated/chart_specs";
import { STATUS_LABELS, worstOf } from "./rule_status";
import { seriesTone } from "./tones";

const NO_TEXTS = { note: "", coarsened: "" };

/** Curves of several jobs on one axis, with gaps where a job has no value. Each job has the same color in all charts. */
export function mergedLines(
  title: string,
  charts: readonly { job: string; spec: LineChartSpec }[],
  jobs: readonly string[],
): LineChartSpec | null {
  const [first] = charts;
  if (!first) return null;
  const x = [...new Set(charts.flatMap(({ spec }) => spec.x))]
    .filter((value): value is number => value !== null)
    .sort((a, b) => a - b);
  const indexOf = new Map(x.map((at, index) => [at, index]));
  let nextColor = jobs.length; // the first color that is not used for a job
  const curves = charts.flatMap(({ job, spec }) =>
    spec.curves.map(
      (curve, index): Curve => ({
        label: spec.curves.length > 1 ? `${job}: ${curve.label}` : job,
        values: alignTo(spec.x, curve.values, indexOf),
        low: null,
        high: null,
        tone: seriesTone(index === 0 ? jobs.indexOf(job) : nextColor++),
        has_markers: false,
      }),
    ),
  );
  return { ...first.spec, ...NO_TEXTS, title, x, curves };
}

function alignTo(
  x: LineChartSpec["x"],
  values: readonly (number | null)[],
  indexOf: ReadonlyMap<number, number>,
): (number | null)[] {
  const aligned: (number | null)[] = Array.from({ length: indexOf.size }, () => null);
  x.forEach((at, index) => {
    const target = at === null ? undefined : indexOf.get(at);
    if (target !== undefined) aligned[target] = values[index] ?? null;
  });
  return aligned;
}

type Figure = {
  title: string;
  unit: string;
  read: (document: JobDocument) => Cell;
  isCounted?: boolean;
};

const FIGURES: readonly Figure[] = [
  { title: "State", unit: "", read: (job) => job.state },
  { title: "Started", unit: "time", read: (job) => job.start_time },
  { title: "Duration", unit: "seconds", read: (job) => job.duration_seconds },
  { title: "Nodes", unit: "", read: (job) => job.nodes.length, isCounted: true },
  { title: "Workers", unit: "", read: (job) => job.workers.length, isCounted: true },
  { title: "Training steps", unit: "", read: (job) => job.steps.train ?? null },
  { title: "Last loss", unit: "", read: (job) => job.losses.train?.value ?? null },
  { title: "Last evaluation loss", unit: "", read: (job) => job.losses.eval?.value ?? null },
  {
    title: "Step time, mean",
    unit: "seconds",
    read: (job) => job.phases.train?.seconds.mean ?? null,
  },
  {
    title: "Step time, median",
    unit: "seconds",
    read: (job) => job.phases.train?.seconds.p50 ?? null,
  },
  {
    title: "Step time, p95",
    unit: "seconds",
    read: (job) => job.phases.train?.seconds.p95 ?? null,
  },
  {
    title: "Training loop",
    unit: "seconds",
    read: (job) => job.stages?.training_loop?.seconds ?? null,
  },
  {
    title: "Initialization",
    unit: "seconds",
    read: (job) => job.stages?.initialization?.seconds ?? null,
  },
  { title: "Findings", unit: "", read: (job) => job.findings.findings.length, isCounted: true },
  { title: "Overhead", unit: "percent", read: (job) => job.overhead?.percent ?? null },
];

export type FigureRow = { title: string; unit: string; values: Cell[]; changes: (number | null)[] };

/** A row per figure that at least one job has; changes are relative to the first job, in percent. */
export function figureRows(documents: readonly JobDocument[]): FigureRow[] {
  return FIGURES.map(({ title, unit, read: of, isCounted }) => {
    const values = documents.map(of);
    return {
      title,
      unit,
      values,
      changes: values.map((value, index) =>
        index === 0 || isCounted ? null : change(values[0], value, unit),
      ),
    };
  }).filter(({ values }) => values.some((value) => value !== null));
}

const LEAST_CHANGE_PERCENT = 0.5; // less is rounded to 0%

/** The change in percent; null if both values look the same: it would contradict them. */
function change(from: Cell | undefined, to: Cell, unit: string): number | null {
  if (typeof from !== "number" || typeof to !== "number" || from === 0) return null;
  if (cellText(from, unit) === cellText(to, unit)) return null;
  const percent = ((to - from) / Math.abs(from)) * 100;
  return Math.abs(percent) < LEAST_CHANGE_PERCENT ? null : percent;
}

/** The mean step of each job, by phase. */
export function stepBars(documents: readonly JobDocument[]): StackedBarsSpec | null {
  const trained = documents.filter((job) => job.phases.train);
  if (trained.length === 0) return null;
  const phases = [
    ...new Set(trained.flatMap((job) => Object.keys(job.phases.train?.percent ?? {}))),
  ];
  return {
    mark: "stacked_bars",
    title: "Training step time by phase",
    ...NO_TEXTS,
    unit: "seconds",
    is_horizontal: true,
    labels: trained.map((document) => document.job),
    parts: phases.map((phase) => ({
      label: phase.replaceAll("_", " "),
      tone: phase,
      values: trained.map(
        (document) =>
          ((document.phases.train?.seconds.mean ?? 0) *
            (document.phases.train?.percent[phase] ?? 0)) /
          100,
      ),
    })),
  };
}

/** Median CPU, GPU and memory utilization of each job. */
export function utilizationBars(
  charts: readonly { job: string; spec: TableSpec }[],
  jobs: readonly string[],
): BarsSpec | null {
  const metrics = [
    ...new Set(
      charts.flatMap(({ spec }) =>
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
    ...NO_TEXTS,
    note: "Median over the job and its nodes.",
    unit: "percent",
    labels: metrics,
    parts: charts.map(({ job, spec }) => ({
      label: job,
      tone: seriesTone(jobs.indexOf(job)),
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
  return row[columns.findIndex((column) => column.name === name)] ?? null;
}

export type FindingRow = {
  rule: string;
  worst: (Severity | null)[];
  triggered: number[];
  outcomes: string[]; // of rules without findings
};

/** Rules with findings in at least one job; those with findings in more jobs come first. */
export function findingRows(documents: readonly JobDocument[]): FindingRow[] {
  const rules = [
    ...new Set(
      documents.flatMap((document) => document.findings.findings.map((finding) => finding.rule)),
    ),
  ];
  return rules
    .map((rule) => {
      const results = documents.map((document) =>
        document.rules.find((candidate) => candidate.rule === rule),
      );
      return {
        rule,
        worst: results.map((result) => (result ? worstOf(result.findings) : null)),
        triggered: results.map((result) => result?.triggered ?? 0),
        outcomes: results.map((result) => (result ? STATUS_LABELS[result.status] : "not run")),
      };
    })
    .sort((a, b) => count(b) - count(a) || a.rule.localeCompare(b.rule));
}

function count(row: FindingRow): number {
  return row.worst.filter((severity) => severity !== null).length;
}
