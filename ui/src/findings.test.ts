import { describe, expect, it } from "vitest";
import type { Finding } from "./api";
import { type Mark, placeLabels } from "./band_drawing";
import { barsOf } from "./findings_track";
import { placeRows, stepsAround } from "./pages/finding";

const mark = (rule: string, from: number, to: number): Mark => ({
  id: rule,
  rule,
  severity: "warning",
  message: "",
  range: [from, to],
});

describe("findings over time", () => {
  it("are below each other if they are at the same time", () => {
    const bars = barsOf([mark("a", 0, 50), mark("b", 10, 20), mark("c", 60, 80)], [0, 100]);
    expect(bars.map(({ row }) => row)).toEqual([0, 1, 0]);
  });

  it("leave room for the label of a short one", () => {
    const bars = barsOf([mark("a", 10, 10.1), mark("b", 15, 16)], [0, 100]);
    expect(bars.map(({ row }) => row)).toEqual([0, 1]);
  });

  it("are left out if they are not in view", () => {
    expect(barsOf([mark("a", 0, 5), mark("b", 90, 95)], [10, 80])).toEqual([]);
  });
});

describe("labels of bands", () => {
  it("do not overlap and stay inside the chart", () => {
    const placed = placeLabels(
      [
        { from: 10, width: 50 },
        { from: 20, width: 50 },
        { from: 90, width: 50 },
      ],
      100,
    );
    expect(placed).toEqual([
      { index: 0, x: 10, row: 0 },
      { index: 1, x: 20, row: 1 },
      { index: 2, x: 50, row: 2 },
    ]);
  });

  it("are left out without room", () => {
    const all = new Array(5).fill({ from: 10, width: 50 });
    expect(placeLabels(all, 100)).toHaveLength(3);
  });
});

describe("the page of a finding", () => {
  const finding: Finding = {
    id: "LossSpike:1",
    rule: "LossSpike",
    message: "",
    severity: "warning",
    advice: null,
    cause: null,
    triggered: 2,
    is_open: false,
    outcome: "",
    evidence: { lost_seconds: 90 },
    improvement: null,
    actions: [],
    step: [403, 429],
    time: ["", ""],
    node: null,
    worker: 0,
    device: null,
    tensor: null,
  };

  it("shows as many steps before the finding as it lasts", () => {
    expect(stepsAround([400, 599])).toEqual([200, 699]);
    expect(stepsAround([10, 10])).toEqual([0, 30]);
  });

  it("says where it is and what it costs", () => {
    const rows = Object.fromEntries(placeRows(finding, null, 5));
    expect(rows).toEqual({
      Steps: "403–429",
      Worker: "0",
      Reported: "2×",
      "Time lost": "1\u202fmin 30\u202fs",
    });
  });
});
