// Numbers, units and times as text: the only formatter of the dashboard. It follows the rules of
// `src/sonde/formats.py`; both pass the cases in `tests/golden/formats.json`.

export const UNKNOWN = "–";
const NARROW = "\u202f";
const MINUS = "\u2212";

type Optional = number | null | undefined;

const PREFIXES = ["", "k", "M", "G", "T", "P"];
const SECOND_UNITS: readonly [number, string][] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];
const LONG_UNITS: readonly [number, string, number, string][] = [
  [86_400, "d", 3600, "h"],
  [3600, "h", 60, "min"],
  [60, "min", 1, "s"],
];
const SYMBOLS: Record<string, string> = { celsius: "°C", watts: "W", mhz: "MHz", count: "" };
const ROUNDS_UP = 0.9995; // three digits of more than this are written as 1
const ZERO_SECONDS = 1e-12; // rounding errors of arithmetic on instants
const ZERO_PERCENT = 1e-9; // rounding errors of shares
const SMALLEST_PERCENT = 0.005; // with two digits, less is rounded to 0

function isNumber(value: Optional): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

const signOf = (value: number): string => (value < 0 ? MINUS : "");

/** Three significant digits of a positive number, without trailing zeros. */
function threeDigits(size: number): string {
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return String(Number(size.toFixed(digits)));
}

/** A duration: 46.6 ms, 8.14 s, 5 min 12 s, 1 h 51 min, 2 d 4 h. */
export function formatDuration(seconds: Optional): string {
  if (!isNumber(seconds)) return UNKNOWN;
  const size = Math.abs(seconds);
  if (size < ZERO_SECONDS) return `0${NARROW}s`;
  return signOf(seconds) + (size < 60 * ROUNDS_UP ? shortDuration(size) : longDuration(size));
}

function shortDuration(seconds: number): string {
  const [factor, unit] =
    SECOND_UNITS.find(([size]) => seconds >= size * ROUNDS_UP) ?? SECOND_UNITS.at(-1)!;
  return `${threeDigits(seconds / factor)}${NARROW}${unit}`;
}

/** The two largest units; the smaller one is omitted if it is zero. */
function longDuration(seconds: number): string {
  for (const [size, unit, smallerSize, smallerUnit] of LONG_UNITS) {
    const total = Math.round(seconds / smallerSize);
    const count = Math.floor(total / (size / smallerSize));
    const rest = total % (size / smallerSize);
    if (!count) continue;
    return `${count}${NARROW}${unit}${rest ? ` ${rest}${NARROW}${smallerUnit}` : ""}`;
  }
  return UNKNOWN;
}

/** A size in bytes with a decimal prefix: 12 B, 1.5 kB, 139 GB. */
export function formatBytes(count: Optional): string {
  if (!isNumber(count)) return UNKNOWN;
  let size = Math.abs(count);
  let power = 0;
  while (size >= 1000 * ROUNDS_UP && power < PREFIXES.length - 1) {
    size /= 1000;
    power += 1;
  }
  return `${signOf(count)}${threeDigits(size)}${NARROW}${PREFIXES[power]}B`;
}

/** Bytes per second with a decimal prefix. */
export function formatByteRate(bytesPerSecond: Optional): string {
  return isNumber(bytesPerSecond) ? `${formatBytes(bytesPerSecond)}/s` : UNKNOWN;
}

/** A percentage: 28%, 4.2%, 0.03%, < 0.01%; with a fixed number of digits in columns of a table. */
export function formatPercent(value: Optional, fixedDigits?: number): string {
  if (!isNumber(value)) return UNKNOWN;
  const size = Math.abs(value);
  const isTiny = size > ZERO_PERCENT && size < SMALLEST_PERCENT;
  if (isTiny && fixedDigits === undefined) return value > 0 ? "< 0.01%" : `> ${MINUS}0.01%`;
  const digits = fixedDigits ?? (size <= ZERO_PERCENT || size >= 9.95 ? 0 : size >= 0.095 ? 1 : 2);
  return `${signOf(value)}${size.toFixed(digits)}%`;
}

/** A change against a reference, in percent: +12%, −3%, ×25. */
export function formatChange(percent: number): string {
  if (percent >= 900) return `×${formatCount(percent / 100 + 1)}`;
  return `${percent > 0 ? "+" : ""}${formatPercent(percent, 0)}`;
}

/** A whole number with thousands separators: 1,615. */
export function formatCount(count: number): string {
  const digits = Math.round(Math.abs(count)).toString();
  return signOf(count) + digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A count with its noun in the right number: 1 step, 1,615 steps. */
export function pluralize(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** A number without a unit: 1,615, 3.14, 0.0012, 2.1e-07. */
function formatPlain(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return formatCount(value);
  if (size >= 1 || size === 0) return signOf(value) + threeDigits(size);
  if (size >= 1e-4) return signOf(value) + String(Number(size.toPrecision(3)));
  const [digits, exponent] = size.toExponential(2).split("e-") as [string, string];
  return `${signOf(value)}${Number(digits)}e-${exponent.padStart(2, "0")}`;
}

/** The symbol of a unit without a prefix. */
export function unitLabel(unit: string): string {
  const labels: Record<string, string> = {
    percent: "%",
    bytes: "bytes",
    bytes_per_second: "bytes/s",
    seconds: "s",
    per_second: "/s",
  };
  return labels[unit] ?? SYMBOLS[unit] ?? unit;
}

/** The value of a metric in the unit it is stored in. */
export function formatValue(value: Optional, unit: string): string {
  if (!isNumber(value)) return UNKNOWN;
  switch (unit) {
    case "percent":
      return formatPercent(value);
    case "bytes":
      return formatBytes(value);
    case "bytes_per_second":
      return formatByteRate(value);
    case "seconds":
      return formatDuration(value);
    case "gpu_hours":
      return formatDuration(value * 3600);
    case "per_second":
      return `${formatPlain(value)}/s`;
    default: {
      const symbol = SYMBOLS[unit] ?? unit;
      return symbol ? `${formatPlain(value)}${NARROW}${symbol}` : formatPlain(value);
    }
  }
}

/** A value with six digits, for axis ticks that are equal with three digits. */
export function formatTick(value: number, unit: string): string {
  const text = signOf(value) + String(Number(Math.abs(value).toPrecision(6)));
  if (!unit) return text;
  return unit === "percent" ? `${text}%` : `${text}${NARROW}${unitLabel(unit)}`;
}

/** An element of a tensor: four significant digits. */
export function formatElement(value: number | undefined): string {
  if (!isNumber(value)) return UNKNOWN;
  const size = Math.abs(value);
  const text =
    Number.isInteger(size) && size < 1e6
      ? String(size)
      : size >= 1e-4 && size < 1e6
        ? size.toPrecision(4)
        : size.toExponential(2);
  return signOf(value) + text.replace("-", MINUS);
}

/** Seconds since the start as a clock: 0:07.5, 12:30, 3:20:05, 2 d 04:00; `span` is the width of the view. */
export function formatElapsed(seconds: number, span: number = Infinity): string {
  const digits = span < 20 ? Math.min(7, Math.floor(1e-9 - Math.log10(span / 20)) + 1) : 0;
  const factor = 10 ** digits;
  const units = Math.round(Math.abs(seconds) * factor);
  const total = Math.floor(units / factor);
  const fraction = digits ? `.${(units % factor).toString().padStart(digits, "0")}` : "";
  const two = (value: number): string => value.toString().padStart(2, "0");
  const s = total % 60,
    m = Math.floor(total / 60) % 60,
    h = Math.floor(total / 3600) % 24,
    d = Math.floor(total / 86400);
  const sign = seconds < 0 && units > 0 ? MINUS : "";
  if (d)
    return `${sign}${d}${NARROW}d ${two(h)}:${two(m)}${s || fraction ? `:${two(s)}${fraction}` : ""}`;
  if (h) return `${sign}${h}:${two(m)}:${two(s)}${fraction}`;
  return `${sign}${m}:${two(s)}${fraction}`;
}

const zones = new Map<string, Intl.DateTimeFormat>();

function zoneFormat(zone: string): Intl.DateTimeFormat {
  let format = zones.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-CA", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    zones.set(zone, format);
  }
  return format;
}

/** The offset of a time zone from UTC at an instant, in seconds. */
export function zoneOffset(unix: number, zone: string): number {
  if (zone === "UTC") return 0;
  const at = Object.fromEntries(
    zoneFormat(zone)
      .formatToParts(new Date(unix * 1000))
      .map((p) => [p.type, Number(p.value)]),
  );
  const local = Date.UTC(at.year!, at.month! - 1, at.day!, at.hour!, at.minute!, at.second!) / 1000;
  return local - Math.floor(unix);
}

/** The offset of a zone as text: UTC+2, UTC+5:30 or UTC. */
export function zoneName(unix: number, zone: string): string {
  const offset = Math.round(zoneOffset(unix, zone) / 60);
  if (offset === 0) return "UTC";
  const size = Math.abs(offset);
  return `UTC${offset < 0 ? MINUS : "+"}${Math.floor(size / 60)}${size % 60 ? `:${(size % 60).toString().padStart(2, "0")}` : ""}`;
}

/** The wall clock of a zone as ISO text without the zone: 2026-11-15T21:19:29.500. */
export function wallClock(unix: number, zone: string): string {
  return new Date(Math.round((unix + zoneOffset(unix, zone)) * 1000)).toISOString().slice(0, -1);
}

/** Date, time and zone: 2026-11-15 21:19:29 UTC. */
export function formatStamp(unix: Optional, zone: string): string {
  if (!isNumber(unix)) return UNKNOWN;
  return `${wallClock(unix, zone).slice(0, 19).replace("T", " ")} ${zoneName(unix, zone)}`;
}

/** The time of day, with fractions of a second only in short views. */
export function formatClock(unix: number, zone: string, span: number = Infinity): string {
  return wallClock(unix, zone).slice(11, span < 2 ? 23 : span < 20 ? 21 : 19);
}

/** "just now", "3 min ago". */
export function formatAgo(seconds: number): string {
  if (seconds < 3) return "just now";
  return `${formatDuration(Math.round(seconds))} ago`;
}
