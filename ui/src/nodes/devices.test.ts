import { describe, expect, it } from "vitest";
import type { MetricDocument } from "../api";
import { busiest, formatDevices, parseDevices } from "./device_ranges";
import { labelStep, layoutRows, rowAt, rowHeight } from "./heat_layout";
import { cpuLines } from "./node_view";
import type { HeatRow } from "./source";

describe("devices by number", () => {
  it("are parsed from and formatted as ranges", () => {
    expect(parseDevices("0-3, 11", 32)).toEqual([0, 1, 2, 3, 11]);
    expect(parseDevices("30-40", 32)).toEqual([30, 31]);
    expect(parseDevices("", 32)).toEqual([]);
    expect(formatDevices([11, 0, 1, 2, 3])).toBe("0-3,11");
    expect(formatDevices([4, 5])).toBe("4,5");
  });

  it("reject invalid text", () => {
    for (const text of ["a", "1-", "5-2", "-3", "1;2"]) expect(parseDevices(text, 32)).toBeNull();
  });

  it("are ranked by load", () => {
    expect(busiest([5, NaN, 90, 30, 90], 3)).toEqual([2, 4, 3]);
  });
});

describe("rows of a heatmap", () => {
  const devices: HeatRow[] = [
    { device: "cpu0", kind: "cpu" },
    { device: "cpu1", kind: "cpu" },
    { device: "gpu0", kind: "gpu" },
  ];

  it("are stacked with a gap between cores and GPUs", () => {
    const layout = layoutRows(devices, null);
    const [cores, gpus] = layout.groups;
    expect(cores!.order).toEqual([0, 1]);
    expect(gpus!.top).toBe(2 * cores!.rowHeight + 8);
    expect(rowAt(layout, cores!.rowHeight + 1)).toBe(1);
    expect(rowAt(layout, 2 * cores!.rowHeight + 4)).toBe(-1);
    expect(rowAt(layout, gpus!.top + 1)).toBe(2);
  });

  it("can be sorted by load", () => {
    expect(layoutRows(devices, new Float64Array([10, 80, 5])).groups[0]!.order).toEqual([1, 0]);
  });

  it("are at least two pixels high, with labels that do not overlap", () => {
    expect(rowHeight(2, "cpu")).toBe(16);
    expect(rowHeight(32, "cpu")).toBe(9);
    expect(rowHeight(256, "cpu")).toBe(2);
    expect(labelStep(9)).toBe(2);
    expect(labelStep(2)).toBe(8);
    expect(labelStep(20)).toBe(1);
  });
});

describe("lines of the CPU chart", () => {
  const metric = (name: string, devices: string[]): [string, MetricDocument] => [
    name,
    { metric: name, unit: "percent", help: "", devices, has_whole: true },
  ];
  const cores = metric("cpu.utilization_percent", ["cpu0", "cpu1"]);

  it("show the share of the job within that of all cores", () => {
    const lines = cpuLines(new Map([cores, metric("process_tree.cpu_percent", [])]), [1]);
    expect(lines.map(({ label, scale, isFilled }) => [label, scale, isFilled])).toEqual([
      ["mean", undefined, undefined],
      ["this job", 0.5, true],
      ["cpu1", undefined, undefined],
    ]);
  });

  it("show the machine alone if the processes of the job were not sampled", () => {
    expect(cpuLines(new Map([cores]), []).map((line) => line.label)).toEqual(["mean"]);
    expect(cpuLines(new Map(), [])).toEqual([]);
  });
});
