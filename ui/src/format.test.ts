/// <reference types="node" />
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as format from "./format";

/** Text as the terminal writes it: plain spaces and ASCII minus signs. */
const plain = (text: string): string => text.replaceAll("\u202f", " ").replaceAll("\u2212", "-");

type Case = [number | null, string];
type Golden = {
  duration: Case[];
  bytes: Case[];
  percent: Case[];
  count: [number, string][];
  plural: [number, string, string, string][];
  stamp: [string, string][];
  clock: [string, string][];
  value: [number | null, string, string][];
};
const golden = JSON.parse(
  readFileSync(new URL("../../tests/golden/formats.json", import.meta.url), "utf8"),
) as Golden;

describe("the cases shared with src/sonde/formats.py", () => {
  it.each(golden.duration)("formats a duration of %s s as %s", (value, text) => {
    expect(plain(format.formatDuration(value))).toBe(text);
  });
  it.each(golden.bytes)("formats %s bytes as %s", (value, text) => {
    expect(plain(format.formatBytes(value))).toBe(text);
  });
  it.each(golden.percent)("formats %s percent as %s", (value, text) => {
    expect(plain(format.formatPercent(value))).toBe(text);
  });
  it.each(golden.count)("formats a count of %s as %s", (value, text) => {
    expect(plain(format.formatCount(value))).toBe(text);
  });
  it.each(golden.plural)("formats %s with the noun %s", (count, noun, plural, text) => {
    expect(format.pluralize(count, noun, plural)).toBe(text);
  });
  it.each(golden.stamp)("formats the instant %s as %s", (instant, text) => {
    expect(format.formatStamp(Date.parse(instant) / 1000, "UTC")).toBe(text);
  });
  it.each(golden.clock)("formats the time of day of %s as %s", (instant, text) => {
    expect(format.formatClock(Date.parse(instant) / 1000, "UTC")).toBe(text);
  });
  it.each(golden.value)("formats %s in %s as %s", (value, unit, text) => {
    expect(plain(format.formatValue(value, unit))).toBe(text);
  });
});

describe("numbers", () => {
  it("show a dash for missing values", () => {
    for (const value of [null, undefined, NaN, Infinity])
      expect(format.formatValue(value, "percent")).toBe("–");
  });

  it("use a real minus sign and scientific notation only for tiny values", () => {
    const text = (value: number): string => format.formatValue(value, "");
    expect(text(-3)).toBe("\u22123");
    expect(text(0.00012)).toBe("0.00012");
    expect(text(0.000012)).toBe("1.2e-05");
    expect(text(123456.4)).toBe("123,456");
  });

  it("agree with their nouns", () => {
    expect(format.pluralize(1, "step")).toBe("1 step");
    expect(format.pluralize(1615, "step")).toBe("1,615 steps");
    expect(format.pluralize(2, "match", "matches")).toBe("2 matches");
  });

  it("show changes with a sign, and large ones as factors", () => {
    expect([12.3, -40, 2400].map(format.formatChange)).toEqual(["+12%", "\u221240%", "×25"]);
  });

  it("show tensor elements with four significant digits", () => {
    expect([0, -0.123456, 3, 0.0000123, 12345.6, undefined, NaN].map(format.formatElement)).toEqual(
      ["0", "\u22120.1235", "3", "1.23e\u22125", "1.235e+4", "–", "–"],
    );
  });
});

describe("elapsed time", () => {
  it("has more fractional digits in shorter views", () => {
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

describe("time stamps", () => {
  const noon = Date.UTC(2026, 10, 14, 12, 0, 0) / 1000;

  it("include the date and the zone", () => {
    expect(format.formatStamp(noon, "UTC")).toBe("2026-11-14 12:00:00 UTC");
    expect(format.formatStamp(noon, "America/New_York")).toBe("2026-11-14 07:00:00 UTC\u22125");
    expect(format.formatStamp(noon, "Asia/Kolkata")).toBe("2026-11-14 17:30:00 UTC+5:30");
    expect(format.formatStamp(null, "UTC")).toBe("–");
  });

  it("respect daylight saving time", () => {
    expect(format.zoneOffset(Date.UTC(2026, 6, 1) / 1000, "Europe/Berlin")).toBe(7200);
    expect(format.zoneOffset(Date.UTC(2026, 0, 1) / 1000, "Europe/Berlin")).toBe(3600);
  });

  it("show fractions of a second only in short views", () => {
    expect(format.formatClock(noon + 0.25, "UTC", 100)).toBe("12:00:00");
    expect(format.formatClock(noon + 0.25, "UTC", 1)).toBe("12:00:00.250");
  });

  it("can be shown as an age", () => {
    expect(format.formatAgo(1)).toBe("just now");
    expect(plain(format.formatAgo(42.3))).toBe("42 s ago");
  });
});
