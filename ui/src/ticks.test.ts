import { describe, expect, it } from "vitest";
import {
  clockTicks,
  elapsedLabel,
  elapsedTicks,
  logarithmicTicks,
  niceCeiling,
  niceTicks,
  timeStep,
} from "./ticks";

describe("ticks of time", () => {
  it("are at round times and have distinct labels", () => {
    for (const span of [0.003, 0.5, 7, 90, 1200, 4000, 90000, 900000]) {
      const ticks = elapsedTicks(0, span, 9);
      expect(ticks.length).toBeGreaterThan(2);
      expect(ticks.length).toBeLessThanOrEqual(10);
      expect(new Set(ticks.map((tick) => tick.label)).size).toBe(ticks.length);
    }
    expect(elapsedTicks(0, 1200, 10).map((tick) => tick.label)).toEqual([
      "0:00",
      "2:00",
      "4:00",
      "6:00",
      "8:00",
      "10:00",
      "12:00",
      "14:00",
      "16:00",
      "18:00",
      "20:00",
    ]);
  });

  it("show fractions of a second only if needed", () => {
    expect(elapsedTicks(1, 2, 5).map((tick) => tick.label)).toEqual([
      "0:01.0",
      "0:01.2",
      "0:01.4",
      "0:01.6",
      "0:01.8",
      "0:02.0",
    ]);
    expect(timeStep(3600, 8)).toBe(600);
    expect([14.5, 15].map((at) => elapsedLabel(at, 0.5))).toEqual(["0:14.5", "0:15.0"]);
    expect(elapsedLabel(15, 5)).toBe("0:15");
  });

  it("are labeled with the date at midnight", () => {
    const start = Date.UTC(2026, 10, 14, 20, 30) / 1000;
    const ticks = clockTicks(0, 8 * 3600, 8, start, "UTC");
    expect(ticks.map((tick) => tick.label)).toEqual([
      "21:00",
      "22:00",
      "23:00",
      "Nov 15",
      "01:00",
      "02:00",
      "03:00",
      "04:00",
    ]);
    expect(ticks.find((tick) => tick.isMajor)?.label).toBe("Nov 15");
    expect(ticks[0]!.at).toBe(1800);
  });

  it("are at full hours of the time zone", () => {
    const start = Date.UTC(2026, 10, 14, 20, 0) / 1000;
    expect(
      clockTicks(0, 3 * 3600, 4, start, "Asia/Kolkata").map((tick) => [tick.at, tick.label]),
    ).toEqual([
      [1800, "02:00"],
      [5400, "03:00"],
      [9000, "04:00"],
    ]);
  });

  it("stay in order at the end of daylight saving time", () => {
    const start = Date.UTC(2026, 9, 24, 23, 0) / 1000;
    const ticks = clockTicks(0, 5 * 3600, 6, start, "Europe/Berlin");
    for (let i = 1; i < ticks.length; i++) expect(ticks[i]!.at).toBeGreaterThan(ticks[i - 1]!.at);
    expect(ticks.at(-1)?.label).toBe("05:00");
  });
});

describe("ticks of values", () => {
  it("are multiples of 1, 2 or 5 times a power of ten", () => {
    expect(niceTicks(0, 100, 4)).toEqual([0, 50, 100]);
    expect(niceTicks(0, 0.7, 4)).toEqual([0, 0.2, 0.4, 0.6]);
    expect(niceTicks(3, 3, 4)).toEqual([3]);
  });

  it("end slightly above the highest value", () => {
    expect(niceCeiling(0)).toBe(1);
    expect(niceCeiling(95)).toBe(100);
    expect(niceCeiling(650e6)).toBe(800e6);
  });
});

it("logarithmic axes have ticks at decades, and more if there are few decades", () => {
  expect(logarithmicTicks(0.3, 70, 4)).toEqual([1, 10]);
  expect(logarithmicTicks(0.9, 12, 4)).toEqual([1, 10]);
  expect(logarithmicTicks(1, 9, 4)).toEqual([1, 2, 5]);
  expect(logarithmicTicks(1e-12, 1, 4)).toEqual([1e-12, 1e-9, 1e-6, 1e-3, 1]);
  expect(logarithmicTicks(0, 1, 4)).toEqual([]);
});
