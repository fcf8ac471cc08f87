// Numbers, units and times as text. The only place that turns a value into words.

const NARROW = "\u202f";

function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function scaled(value: number, steps: [number, string][]): string {
  const size = Math.abs(value);
  const [factor, prefix] =
    steps.find(([from]) => size >= from * 0.9995) ?? steps[steps.length - 1]!;
  return `${digits(value / factor)}${NARROW}${prefix}`;
}

const SI: [number, string][] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];
const SECONDS: [number, string][] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

/** A whole number, its thousands set off as in all sentences: 1,615. */
export function formatCount(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

export function formatPercent(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return `${value.toFixed(size === 0 || size >= 10 ? 0 : size >= 0.1 ? 1 : 2)}${NARROW}%`;
}

export function formatBytes(value: number): string {
  return `${scaled(value, SI)}B`;
}

/** Seconds; less is what arithmetic left of nought. */
const ROUNDING = 1e-12;

/** A length of time for reading: 46.6 ms, 8.14 s, 5.2 min, 3 h 20 min, 2 d 4 h. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const size = Math.abs(seconds);
  if (size < ROUNDING) return `0${NARROW}s`;
  if (size < 90) return scaled(seconds, SECONDS);
  if (size < 5400) return `${(seconds / 60).toFixed(1)}${NARROW}min`;
  const minutes = Math.round(size / 60);
  const sign = seconds < 0 ? "-" : "";
  if (minutes < 2880)
    return `${sign}${Math.floor(minutes / 60)}${NARROW}h ${minutes % 60}${NARROW}min`;
  const hours = Math.round(minutes / 60);
  return `${sign}${Math.floor(hours / 24)}${NARROW}d ${hours % 24}${NARROW}h`;
}

const UNIT_SIGNS: Record<string, string> = {
  watts: "W",
  celsius: "°C",
  mhz: "MHz",
  per_second: "/s",
  count: "",
};

/** What a unit of the store is called on the screen, without a prefix. */
export function unitLabel(unit: string): string {
  const named: Record<string, string> = {
    percent: "%",
    bytes: "bytes",
    bytes_per_second: "bytes/s",
    seconds: "s",
  };
  return named[unit] ?? UNIT_SIGNS[unit] ?? unit;
}

/** A value with its unit, as the store names units. */
export function formatValue(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  switch (unit) {
    case "percent":
      return formatPercent(value);
    case "bytes":
      return formatBytes(value);
    case "bytes_per_second":
      return `${formatBytes(value)}/s`;
    case "seconds":
      return formatDuration(value);
    case "celsius":
      return `${value.toFixed(0)}${NARROW}°C`;
    default:
      return formatPlain(value, UNIT_SIGNS[unit] ?? unit);
  }
}

function formatPlain(value: number, sign: string): string {
  const size = Math.abs(value);
  let text: string;
  if (Number.isInteger(value) && size < 1e6) text = formatCount(size);
  else if (size >= 1e4) text = scaled(size, SI).trim();
  else if (size >= 1) text = digits(size);
  else if (size >= 0.01) text = size.toPrecision(3);
  else text = size === 0 ? "0" : size.toExponential(2);
  const shown = value < 0 ? `\u2212${text}` : text;
  return sign ? `${shown}${sign.startsWith("/") ? "" : NARROW}${sign}` : shown;
}

/** Seconds since the start as a clock: 0:07.5, 12:30, 3:20:05, 2 d 04:00. `span` is the width of the view. */
export function formatElapsed(seconds: number, span: number = Infinity): string {
  const places = span < 20 ? Math.min(7, Math.floor(1e-9 - Math.log10(span / 20)) + 1) : 0;
  const factor = 10 ** places;
  const units = Math.round(Math.abs(seconds) * factor);
  const whole = Math.floor(units / factor);
  const fraction = places ? `.${(units % factor).toString().padStart(places, "0")}` : "";
  const two = (value: number): string => value.toString().padStart(2, "0");
  const s = whole % 60,
    m = Math.floor(whole / 60) % 60,
    h = Math.floor(whole / 3600) % 24,
    d = Math.floor(whole / 86400);
  const sign = seconds < 0 && units > 0 ? "\u2212" : "";
  if (d)
    return `${sign}${d}${NARROW}d ${two(h)}:${two(m)}${s || fraction ? `:${two(s)}${fraction}` : ""}`;
  if (h) return `${sign}${h}:${two(m)}:${two(s)}${fraction}`;
  return `${sign}${m}:${two(s)}${fraction}`;
}

const zones = new Map<string, Intl.DateTimeFormat>();

function zoneFormat(zone: string): Intl.DateTimeFormat {
  let found = zones.get(zone);
  if (!found) {
    found = new Intl.DateTimeFormat("en-CA", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    zones.set(zone, found);
  }
  return found;
}

/** How many seconds the clocks of a zone are ahead of UTC at a moment. */
export function zoneOffset(unix: number, zone: string): number {
  if (zone === "UTC") return 0;
  const at = Object.fromEntries(
    zoneFormat(zone)
      .formatToParts(new Date(unix * 1000))
      .map((p) => [p.type, Number(p.value)]),
  );
  const there = Date.UTC(at.year!, at.month! - 1, at.day!, at.hour!, at.minute!, at.second!) / 1000;
  return there - Math.floor(unix);
}

/** "+02:00", or "UTC". */
export function zoneName(unix: number, zone: string): string {
  const offset = Math.round(zoneOffset(unix, zone) / 60);
  if (offset === 0) return "UTC";
  const size = Math.abs(offset);
  return `UTC${offset < 0 ? "\u2212" : "+"}${Math.floor(size / 60)}${size % 60 ? `:${(size % 60).toString().padStart(2, "0")}` : ""}`;
}

/** The wall clock of a zone as an ISO text without zone: 2026-11-15T21:19:29.500. */
export function wallClock(unix: number, zone: string): string {
  return new Date(Math.round((unix + zoneOffset(unix, zone)) * 1000)).toISOString().slice(0, -1);
}

/** Date, time and zone, exactly: 2026-11-15 21:19:29 UTC. */
export function formatStamp(unix: number | null | undefined, zone: string): string {
  if (unix === null || unix === undefined || !Number.isFinite(unix)) return "–";
  return `${wallClock(unix, zone).slice(0, 19).replace("T", " ")} ${zoneName(unix, zone)}`;
}

/** The time of day, as fine as the view needs. */
export function formatClock(unix: number, zone: string, span: number = Infinity): string {
  return wallClock(unix, zone).slice(11, span < 2 ? 23 : span < 20 ? 21 : 19);
}

/** "just now", "3 min ago". */
export function formatAgo(seconds: number): string {
  if (seconds < 3) return "just now";
  return seconds < 90 ? `${Math.round(seconds)}${NARROW}s ago` : `${formatDuration(seconds)} ago`;
}
