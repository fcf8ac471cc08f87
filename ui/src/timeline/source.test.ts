import { expect, test } from "vitest";
import { parseSteps } from "./flame_source";
import { machineLines } from "./machine";
import { windowsOf } from "./profiled";
import type { Counter } from "./source";

const counter = (metric: string, device: string, mean: number[]): Counter => ({
  node: "a",
  metric,
  device,
  unit: "percent",
  x: Float64Array.from(mean, (_, i) => i),
  low: Float64Array.from(mean),
  mean: Float64Array.from(mean),
  high: Float64Array.from(mean),
});

test("steps are a number, a range, or a range with one end", () => {
  expect(parseSteps("")).toEqual({ first: null, last: null });
  expect(parseSteps("7")).toEqual({ first: 7, last: 7 });
  expect(parseSteps("7-9")).toEqual({ first: 7, last: 9 });
  expect(parseSteps("7 –")).toEqual({ first: 7, last: null });
  expect(parseSteps("-9")).toEqual({ first: null, last: 9 });
  expect(parseSteps("some")).toEqual({ first: null, last: null });
});

test("metrics without samples have no line", () => {
  const { lines } = machineLines([
    counter("cpu.utilization_percent", "", [1, 2]),
    counter("gpu.utilization_percent", "gpu1", [NaN, NaN]),
    counter("gpu.memory_used_percent", "gpu0", [3, NaN]),
  ]);
  expect(lines.map((line) => line.label)).toEqual(["CPU", "GPU mem 0"]);
});

test("only the windows of the first worker are listed", () => {
  const window = { kind: "python", start: 1, end: 2, step: 3 };
  expect(
    windowsOf([
      { ...window, worker: 4 },
      { ...window, worker: 5 },
    ]),
  ).toEqual([{ ...window, worker: 4 }]);
  expect(windowsOf([])).toEqual([]);
});
