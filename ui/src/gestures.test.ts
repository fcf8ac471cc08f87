import { describe, expect, it } from "vitest";
import { GUTTER, pinchZoom, RIGHT, timeAt, xAt } from "./gestures";
import { retryWait } from "./live";
import { usefulWidths } from "./time_bar";

const WIDTH = GUTTER + 1000 + RIGHT;

describe("pointer positions", () => {
  it("convert to times and back", () => {
    expect(timeAt(GUTTER + 500, WIDTH, [0, 100])).toBe(50);
    expect(xAt(50, WIDTH, [0, 100])).toBe(GUTTER + 500);
  });

  it("keep the times under both fingers during a pinch", () => {
    const before = [GUTTER + 400, GUTTER + 600] as const;
    const after = [GUTTER + 300, GUTTER + 700] as const;
    const window = pinchZoom([0, 100], before, after, WIDTH);
    expect(timeAt(after[0], WIDTH, window)).toBeCloseTo(40);
    expect(timeAt(after[1], WIDTH, window)).toBeCloseTo(60);
  });

  it("pan with two fingers", () => {
    const window = pinchZoom(
      [0, 100],
      [GUTTER + 400, GUTTER + 600],
      [GUTTER + 300, GUTTER + 500],
      WIDTH,
    );
    expect(window[0]).toBeCloseTo(10);
    expect(window[1]).toBeCloseTo(110);
  });

  it("do not zoom if two fingers are above each other", () => {
    const window = pinchZoom(
      [0, 100],
      [GUTTER + 500, GUTTER + 503],
      [GUTTER + 504, GUTTER + 499],
      WIDTH,
    );
    expect(window[0]).toBeCloseTo(0);
    expect(window[1]).toBeCloseTo(100);
  });
});

describe("time controls", () => {
  it("retry with increasing delays of up to 15 seconds", () => {
    expect([1, 2, 3, 9].map(retryWait)).toEqual([1000, 2000, 4000, 15000]);
  });

  it("offer zoom widths well below the entire job", () => {
    expect(usefulWidths(1200)).toEqual([300, 60, 10]);
    expect(usefulWidths(5)).toEqual([1]);
  });
});
