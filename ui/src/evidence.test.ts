import { expect, test } from "vitest";
import { evidenceRows, nameAndUnit, valueText } from "./evidence";

test("the suffix of a name is the unit", () => {
  expect(nameAndUnit("lost_percent")).toEqual(["lost", "percent"]);
  expect(nameAndUnit("network_bytes_per_second")).toEqual(["network", "bytes_per_second"]);
  expect(nameAndUnit("seconds_per_step_to_win")).toEqual(["seconds per step to win", "seconds"]);
  expect(nameAndUnit("gpu_hours_lost")).toEqual(["GPU time lost", "gpu_hours"]);
  expect(nameAndUnit("peak_step")).toEqual(["peak step", ""]);
});

test("evidence is formatted with units", () => {
  expect(evidenceRows({ lost_percent: 70.2, cores: 2, has_recovered: true })).toEqual([
    ["lost", "70%"],
    ["cores", "2"],
    ["has recovered", "yes"],
  ]);
});

test("ambiguous labels keep the unit", () => {
  const rows = evidenceRows({ lost_percent: 70, lost_seconds: 28 });
  expect(rows.map(([name]) => name)).toEqual(["lost percent", "lost seconds"]);
});

test("long lists are truncated, and missing values are dashes", () => {
  expect(
    valueText(
      Array.from({ length: 10 }, (_, index) => `layer${index}`),
      "",
    ),
  ).toMatch(/layer7 and 2 more$/);
  expect(valueText(null, "seconds")).toBe("–");
  expect(valueText([], "")).toBe("–");
});
