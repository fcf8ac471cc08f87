import { describe, expect, it } from "vitest";
import {
  type Lane,
  type Lanes,
  laneShares,
  phaseShares,
  shareColumns,
  smoothedShares,
  spanAt,
  styleFor,
} from "./phases";
import {
  barSegments,
  labeledBars,
  namedBars,
  phaseOrder,
  type StepRow,
  stepCeiling,
} from "./step_layout";

function lane(overrides: Partial<Lane>): Lane {
  return {
    name: "forward",
    category: "phase",
    count: 0,
    seconds: 0,
    starts: new Float64Array(),
    lengths: new Float64Array(),
    steps: new Float64Array(),
    coverage: null,
    ...overrides,
  };
}

describe("shares of phases", () => {
  it("are computed from spans and from coverage", () => {
    const spans = lane({ starts: new Float64Array([0, 6]), lengths: new Float64Array([1, 4]) });
    const shares = laneShares(spans, [0, 10], 5, [0, 10], 2);
    expect([...shares.rest]).toEqual([0.5, 0, 0, 0, 0]);
    expect([...shares.long]).toEqual([0, 0, 0, 1, 1]);
    const covered = lane({ coverage: new Float64Array([1, 0, 0.5, 0.5]) });
    expect([...laneShares(covered, [0, 8], 2, [0, 8], 9).rest]).toEqual([0.5, 0.5]);
  });

  it("include only spans inside the window", () => {
    const spans = lane({ starts: new Float64Array([0]), lengths: new Float64Array([10]) });
    expect([...laneShares(spans, [0, 10], 2, [8, 12], 99).rest]).toEqual([1, 0]);
  });

  it("are smoothed over several steps, except for long spans", () => {
    expect([
      ...smoothedShares(new Float64Array([1, 0, 1, 0]), new Float64Array([1, 1, 1, 1]), 9),
    ]).toEqual([0.5, 0.5, 0.5, 0.5]);
    const coverage = new Float64Array(40).map((_, i) => (i < 20 ? i % 2 : 0));
    const lanes: Lanes = {
      window: [0, 40],
      columns: 40,
      lanes: [
        lane({ coverage, count: 20 }),
        lane({
          name: "checkpoint",
          count: 1,
          starts: new Float64Array([20]),
          lengths: new Float64Array([20]),
        }),
      ],
    };
    const [forward, checkpoint] = phaseShares(lanes, 40, [0, 40]);
    expect([...checkpoint!.slice(18, 22)]).toEqual([0, 0, 1, 1]);
    expect(forward![10]).toBeCloseTo(0.5, 0);
    expect(forward![21]).toBe(0);
  });

  it("are shown if there are too many spans for lanes", () => {
    const lanes = (count: number): Lanes => ({
      window: [0, 10],
      columns: 100,
      lanes: [lane({ count })],
    });
    expect(styleFor(lanes(40), undefined)).toBe("lanes");
    expect(styleFor(lanes(4000), undefined)).toBe("share");
    expect(styleFor(lanes(4000), "lanes")).toBe("lanes");
    expect(shareColumns(900)).toBe(300);
  });

  it("find the span at a time", () => {
    const spans = lane({ starts: new Float64Array([1, 3]), lengths: new Float64Array([1, 1]) });
    expect(spanAt(spans, 3.5)).toBe(1);
    expect(spanAt(spans, 2.5)).toBe(-1);
  });
});

describe("bars of steps", () => {
  const row = (step: number, phases: Record<string, number>): StepRow => ({
    step,
    start: 0,
    phases,
    seconds: Object.values(phases).reduce((a, b) => a + b, 0),
    profiled: false,
  });

  it("fill the chart, except for outliers", () => {
    expect(stepCeiling([0.5, 0.6, 8], 0.5)).toBeCloseTo(0.63);
    expect(stepCeiling([], null)).toBeGreaterThan(0);
  });

  it("have labels if they are cut off, without overlaps", () => {
    const rows = [8, 9, 1, 1, 7].map((seconds, i) => row(i, { forward: seconds }));
    expect([...labeledBars(rows, 2)]).toEqual([1, 4]);
  });

  it("have step numbers below the first, middle and last bar", () => {
    expect(namedBars(30)).toEqual([0, 15, 29]);
    expect(namedBars(4)).toEqual([0, 3]);
  });

  it("stack phases in the order of a step, custom phases last", () => {
    expect(phaseOrder([row(0, { between: 1, backward: 1, augment: 1, data_wait: 1 })])).toEqual([
      "data_wait",
      "backward",
      "augment",
      "between",
    ]);
  });

  it("have a height proportional to their time, limited by the chart", () => {
    const segments = barSegments(row(0, { forward: 1, backward: 3 }), ["forward", "backward"], 8);
    expect(segments.map((segment) => segment.percent)).toEqual([12.5, 37.5]);
    const cut = barSegments(row(1, { forward: 10, backward: 30 }), ["forward", "backward"], 8);
    expect(cut.reduce((sum, segment) => sum + segment.percent, 0)).toBeCloseTo(100);
  });
});
