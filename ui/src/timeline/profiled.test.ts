import { describe, expect, it } from "vitest";
import { openingWindow } from "./profiled";
import type { Profiled } from "./source";

const profile = (kind: string, start: number, end: number, worker = 0): Profiled => ({
  worker,
  kind,
  start,
  end,
  step: 5,
});

describe("the timeline opens", () => {
  it("on the profiles that follow each other", () => {
    const windows = [profile("operators", 17.3, 17.6), profile("python", 18.1, 18.7)];
    expect(openingWindow(windows, 120)).toEqual([expect.closeTo(17.23), expect.closeTo(18.77)]);
  });

  it("on the first profiles if later ones are far away", () => {
    const windows = [profile("operators", 10, 12), profile("operators", 500, 502)];
    expect(openingWindow(windows, 600)).toEqual([expect.closeTo(9.9), expect.closeTo(12.1)]);
  });

  it("on the entire job without profiles, or if they are a large part of it", () => {
    expect(openingWindow([], 100)).toBeNull();
    expect(openingWindow([profile("python", 10, 50)], 100)).toBeNull();
  });
});
