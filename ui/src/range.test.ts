import { describe, expect, it } from "vitest";
import { clampRange, isSame, ordered, panRange, parseRange, rangeText, zoomRange } from "./range";

describe("time windows", () => {
  it("are clamped to the job", () => {
    expect(clampRange([-5, 5], [0, 100])).toEqual([0, 10]);
    expect(clampRange([95, 105], [0, 100])).toEqual([90, 100]);
    expect(clampRange([-50, 500], [0, 100])).toEqual([0, 100]);
  });

  it("zoom around a fixed point", () => {
    expect(zoomRange([0, 100], 0.5, 20, [0, 100])).toEqual([10, 60]);
    expect(zoomRange([40, 60], 100, 50, [0, 100])).toEqual([0, 100]);
  });

  it("pan by a fraction of their width", () => {
    expect(panRange([20, 40], 0.5, [0, 100])).toEqual([30, 50]);
    expect(panRange([20, 40], -5, [0, 100])).toEqual([0, 20]);
  });

  it("survive a round trip through the URL", () => {
    expect(rangeText([420, 700])).toBe("420-700");
    expect(parseRange(rangeText([1.23456, 1.26]))).toEqual([1.23456, 1.26]);
    expect(parseRange("700-420")).toBeNull();
    expect(parseRange("a-b")).toBeNull();
    expect(parseRange(undefined)).toBeNull();
  });

  it("are equal if the difference is invisible", () => {
    expect(isSame([0, 100], [0, 100.00001])).toBe(true);
    expect(isSame([0, 100], [0, 101])).toBe(false);
    expect(isSame(null, [0, 1])).toBe(false);
    expect(isSame(null, null)).toBe(true);
    expect(ordered(3, 1)).toEqual([1, 3]);
  });
});
