import { describe, expect, it } from "vitest";
import { GUTTER, pinched, RIGHT, timeAt, xAt } from "./gestures";
import { retryWait } from "./live";
import { usefulWidths } from "./time_bar";

const WIDTH = GUTTER + 1000 + RIGHT;

describe("pointers", () => {
  it("know the time they stand at, and a time its place", () => {
    expect(timeAt(GUTTER + 500, WIDTH, [0, 100])).toBe(50);
    expect(xAt(50, WIDTH, [0, 100])).toBe(GUTTER + 500);
  });

  it("that are two keep the times under them while they part", () => {
    const before = [GUTTER + 400, GUTTER + 600] as const;
    const after = [GUTTER + 300, GUTTER + 700] as const;
    const window = pinched([0, 100], before, after, WIDTH);
    expect(timeAt(after[0], WIDTH, window)).toBeCloseTo(40);
    expect(timeAt(after[1], WIDTH, window)).toBeCloseTo(60);
  });

  it("that are two and move together move the window", () => {
    const window = pinched(
      [0, 100],
      [GUTTER + 400, GUTTER + 600],
      [GUTTER + 300, GUTTER + 500],
      WIDTH,
    );
    expect(window[0]).toBeCloseTo(10);
    expect(window[1]).toBeCloseTo(110);
  });

  it("that are two above each other change nothing, whichever stands left", () => {
    const window = pinched(
      [0, 100],
      [GUTTER + 500, GUTTER + 503],
      [GUTTER + 504, GUTTER + 499],
      WIDTH,
    );
    expect(window[0]).toBeCloseTo(0);
    expect(window[1]).toBeCloseTo(100);
  });
});

describe("waiting", () => {
  it("for a server that is away grows, and ends at a quarter of a minute", () => {
    expect([1, 2, 3, 9].map(retryWait)).toEqual([1000, 2000, 4000, 15000]);
  });

  it("for nobody: buttons show widths well below the whole job", () => {
    expect(usefulWidths(1200)).toEqual([300, 60, 10]);
    expect(usefulWidths(5)).toEqual([1]);
  });
});
