import { describe, expect, it } from "vitest";
import * as format from "./format";

const plain = (text: string): string => text.replace(/\u202f/g, " ");

describe("numbers", () => {
  it("have units and three digits", () => {
    const shown = (value: number, unit: string): string => plain(format.formatValue(value, unit));
    expect(shown(0, "percent")).toBe("0 %");
    expect(shown(12.34, "percent")).toBe("12 %");
    expect(shown(2.468, "percent")).toBe("2.5 %");
    expect(shown(0.012, "percent")).toBe("0.01 %");
    expect(shown(1.5e9, "bytes")).toBe("1.50 GB");
    expect(shown(320e6, "bytes_per_second")).toBe("320 MB/s");
    expect(shown(0, "bytes_per_second")).toBe("0 B/s");
    expect(shown(612.4, "watts")).toBe("612 W");
    expect(shown(1980, "mhz")).toBe("1,980 MHz");
    expect(shown(45.2, "celsius")).toBe("45 °C");
    expect(shown(123456.5, "per_second")).toBe("123 k/s");
    expect(shown(-3, "")).toBe("\u22123");
    expect(shown(0.00012, "")).toBe("1.20e-4");
    expect(shown(0.02328, "")).toBe("0.0233");
    expect(shown(0.5, "")).toBe("0.500");
    expect(shown(1.5, "")).toBe("1.50");
  });

  it("that are not known are a dash", () => {
    for (const value of [null, undefined, NaN, Infinity])
      expect(format.formatValue(value, "percent")).toBe("–");
  });

  it("are counted in groups of three", () => {
    expect(plain(format.formatCount(1234567))).toBe("1,234,567");
  });

  it("never print 1000 of a unit that has a next one", () => {
    expect(plain(format.formatBytes(999.9e6))).toBe("1.00 GB");
    expect(plain(format.formatDuration(0.99999))).toBe("1.00 s");
  });
  it("call what arithmetic leaves of nought nought", () => {
    expect(plain(format.formatDuration(5.6e-17))).toBe("0 s");
    expect(plain(format.formatDuration(2e-9))).toBe("2.00 ns");
  });
});

describe("durations", () => {
  it("are read in the unit people would use", () => {
    const cases: [number, string][] = [
      [0, "0 s"],
      [42e-9, "42.0 ns"],
      [4.66e-5, "46.6 µs"],
      [0.0466, "46.6 ms"],
      [8.14, "8.14 s"],
      [75, "75.0 s"],
      [312, "5.2 min"],
      [12000, "3 h 20 min"],
      [187200, "2 d 4 h"],
    ];
    for (const [seconds, text] of cases) expect(plain(format.formatDuration(seconds))).toBe(text);
  });

  it("as a clock are as fine as the view", () => {
    expect(format.formatElapsed(750)).toBe("12:30");
    expect(format.formatElapsed(12005)).toBe("3:20:05");
    expect(format.formatElapsed(7.52, 5)).toBe("0:07.5");
    expect(format.formatElapsed(7.5234, 0.05)).toBe("0:07.523");
    expect(format.formatElapsed(59.99)).toBe("1:00");
    expect(format.formatElapsed(0.0219384, 0.001)).toBe("0:00.02194");
    expect(format.formatElapsed(0.0219384, 0.00001)).toBe("0:00.0219384");
    expect(plain(format.formatElapsed(187200))).toBe("2 d 04:00");
  });
});

describe("moments", () => {
  const noon = Date.UTC(2026, 10, 14, 12, 0, 0) / 1000;

  it("name the right month and their zone", () => {
    expect(format.formatStamp(noon, "UTC")).toBe("2026-11-14 12:00:00 UTC");
    expect(format.formatStamp(noon, "America/New_York")).toBe("2026-11-14 07:00:00 UTC\u22125");
    expect(format.formatStamp(noon, "Asia/Kolkata")).toBe("2026-11-14 17:30:00 UTC+5:30");
    expect(format.formatStamp(null, "UTC")).toBe("–");
  });

  it("follow summer time", () => {
    expect(format.zoneOffset(Date.UTC(2026, 6, 1) / 1000, "Europe/Berlin")).toBe(7200);
    expect(format.zoneOffset(Date.UTC(2026, 0, 1) / 1000, "Europe/Berlin")).toBe(3600);
  });

  it("have fractions only where the view is short", () => {
    expect(format.formatClock(noon + 0.25, "UTC", 100)).toBe("12:00:00");
    expect(format.formatClock(noon + 0.25, "UTC", 1)).toBe("12:00:00.250");
  });

  it("are told as an age", () => {
    expect(format.formatAgo(1)).toBe("just now");
    expect(plain(format.formatAgo(42.3))).toBe("42 s ago");
  });
});
