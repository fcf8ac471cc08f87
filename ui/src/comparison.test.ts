import { expect, test } from "vitest";
import type { Finding, JobDocument, RuleDocument } from "./api";
import { figureRows, findingRows, mergedLines, stepBars, utilizationBars } from "./comparison";
import type { LineChartSpec, TableSpec } from "./generated/chart_specs";
import { toneVariable } from "./tones";

function line(x: number[], values: (number | null)[]): LineChartSpec {
  return {
    mark: "line",
    title: "Losses",
    note: "Last: 1",
    coarsened: "",
    x,
    x_title: "step",
    x_unit: "",
    unit: "",
    is_logarithmic: false,
    low: null,
    high: null,
    curves: [{ label: "train", values, low: values, high: values, tone: "", has_markers: false }],
  };
}

function document(job: string, more: Partial<JobDocument> = {}): JobDocument {
  return {
    job,
    state: "completed",
    start_time: "2026-11-15T08:00:00Z",
    duration_seconds: 100,
    nodes: [],
    workers: [],
    steps: { train: 10 },
    losses: {},
    phases: {
      train: {
        steps: 10,
        seconds: { mean: 2, p50: 2, p95: 3, maximum: 4 },
        percent: { forward: 25, backward: 75 },
      },
    },
    stages: {},
    overhead: null,
    rules: [],
    findings: { findings: [], counts: {}, worst: null, sentence: null },
    ...more,
  } as unknown as JobDocument;
}

test("curves of several jobs share one axis, with gaps for missing values", () => {
  const merged = mergedLines(
    "Loss",
    [
      { job: "a", spec: line([0, 2], [4, 2]) },
      { job: "b", spec: line([0, 1, 2], [5, null, 3]) },
    ],
    ["a", "b"],
  );
  expect(merged?.x).toEqual([0, 1, 2]);
  expect(merged?.curves.map((curve) => [curve.label, curve.values])).toEqual([
    ["a", [4, null, 2]],
    ["b", [5, null, 3]],
  ]);
  expect(merged?.note).toBe("");
});

test("a job has the same color in every chart", () => {
  const two = { ...line([0], [1]), curves: [...line([0], [1]).curves, ...line([0], [2]).curves] };
  const tones = (merged: LineChartSpec | null): string[] =>
    merged?.curves.map((curve) => toneVariable(curve.tone, 0)) ?? [];
  expect(tones(mergedLines("Loss", [{ job: "b", spec: line([0], [1]) }], ["a", "b"]))).toEqual([
    "--c2",
  ]);
  expect(
    tones(
      mergedLines(
        "Loss",
        [
          { job: "a", spec: two },
          { job: "b", spec: line([0], [1]) },
        ],
        ["a", "b"],
      ),
    ),
  ).toEqual(["--c1", "--c3", "--c2"]);
});

test("missing figures are omitted, and changes are relative to the first job", () => {
  const rows = figureRows([document("a"), document("b", { duration_seconds: 150 })]);
  expect(rows.find((row) => row.title === "Duration")).toMatchObject({
    values: [100, 150],
    changes: [null, 50],
  });
  expect(rows.find((row) => row.title === "Last evaluation loss")).toBeUndefined();
  expect(rows.find((row) => row.title === "State")?.changes).toEqual([null, null]);
});

test("values that look the same have no change, nor have changes that are rounded to 0%", () => {
  const changes = (first: number, second: number): (number | null)[] | undefined =>
    figureRows([
      document("a", { duration_seconds: first }),
      document("b", { duration_seconds: second }),
    ]).find((row) => row.title === "Duration")?.changes;
  expect(changes(3600, 3629)).toEqual([null, null]); // both 1 h
  expect(changes(1.0001, 1.0009)).toEqual([null, null]); // both 1 s
  expect(changes(100_000, 100_300)).toEqual([null, null]); // 0.3%
  expect(changes(100, 150)).toEqual([null, 50]);
});

test("the mean step time is divided by phase", () => {
  const bars = stepBars([document("a"), document("b", { phases: {} })]);
  expect(bars?.labels).toEqual(["a"]);
  expect(bars?.parts.map((part) => [part.label, part.values])).toEqual([
    ["forward", [0.5]],
    ["backward", [1.5]],
  ]);
});

test("utilization is the median over all nodes", () => {
  const column = (name: string) => ({ name, title: name, unit: "", is_number: false, tone: "" });
  const spec: TableSpec = {
    mark: "table",
    title: "",
    note: "",
    coarsened: "",
    total: null,
    is_quiet: false,
    columns: ["metric", "unit", "p50"].map(column),
    rows: [
      ["Total CPU", "percent", 10],
      ["Total CPU", "percent", 90],
      ["Total CPU", "percent", 30],
      ["Network in", "bytes_per_second", 5],
    ],
  };
  const bars = utilizationBars([{ job: "a", spec }], ["a"]);
  expect(bars?.labels).toEqual(["Total CPU"]);
  expect(bars?.parts[0]?.values).toEqual([30]);
});

test("rules with findings in more jobs come first", () => {
  const finding = (rule: string) => ({ rule, severity: "warning" }) as Finding;
  const rule = (name: string, findings: Finding[]) =>
    ({
      rule: name,
      findings,
      triggered: findings.length,
      status: findings.length ? "IssuesFound" : "NotApplicable",
    }) as unknown as RuleDocument;
  const make = (job: string, ...names: string[]): JobDocument =>
    document(job, {
      rules: ["A", "B"].map((name) => rule(name, names.includes(name) ? [finding(name)] : [])),
      findings: { findings: names.map(finding), counts: {}, worst: null, sentence: null },
    });
  expect(
    findingRows([make("a", "A", "B"), make("b", "B")]).map((row) => [row.rule, row.worst]),
  ).toEqual([
    ["B", ["warning", "warning"]],
    ["A", ["warning", null]],
  ]);
});

test("a rule without findings says why: only a rule that had data found no issues", () => {
  const statuses = ["NoIssuesFound", "NotApplicable", "NotEnoughData", "Error"] as const;
  const finding = { rule: "A", severity: "warning" } as Finding;
  const jobs = statuses.map((status) =>
    document(status, { rules: [{ rule: "A", findings: [], triggered: 0, status } as never] }),
  );
  const found = document("found", {
    rules: [{ rule: "A", findings: [finding], triggered: 1, status: "IssuesFound" } as never],
    findings: { findings: [finding], counts: {}, worst: "warning", sentence: null },
  });
  const [row] = findingRows([found, ...jobs, document("none")]);
  expect(row?.outcomes.slice(1)).toEqual([
    "no issues found",
    "not applicable",
    "not enough data",
    "failed",
    "not run",
  ]);
});
