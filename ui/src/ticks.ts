// Tick positions: round values, and round times.

import { formatElapsed, wallClock, zoneOffset } from "./format";

export type Tick = { at: number; label: string; isMajor: boolean };

const STEPS = [
  1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1,
  0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  86400, 172800, 604800, 2592000,
];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function timeStep(span: number, count: number): number {
  return STEPS.find((step) => span / step <= count) ?? STEPS[STEPS.length - 1]!;
}

function multiples(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

/** Ticks of a window, labeled with elapsed time. */
export function elapsedTicks(from: number, to: number, count: number): Tick[] {
  const step = timeStep(to - from, count);
  const unit = step < 60 ? 60 : step < 3600 ? 3600 : 86400;
  return multiples(from, to, step).map((at) => ({
    at,
    label: elapsedLabel(at, step),
    isMajor: Math.abs(at / unit - Math.round(at / unit)) < 1e-9,
  }));
}

/** The elapsed time of a tick, with as many digits as the distance of ticks needs. */
export function elapsedLabel(at: number, step: number): string {
  return formatElapsed(at, step < 1 ? step * 20 : Infinity);
}

/** Ticks labeled with the time of day in a zone; midnight is labeled with the date. */
export function clockTicks(
  from: number,
  to: number,
  count: number,
  origin: number,
  zone: string,
): Tick[] {
  const step = timeStep(to - from, count);
  const offset = zoneOffset(origin + from, zone);
  const ticks: Tick[] = [];
  for (const wall of multiples(origin + from + offset, origin + to + offset, step)) {
    const isMidnight = wall % 86400 === 0;
    // A change to daylight saving time inside the window moves later ticks.
    const at = wall - zoneOffset(wall - offset, zone) - origin;
    ticks.push({
      at,
      label: clockLabel(origin + at, zone, step, isMidnight),
      isMajor: isMidnight || (step < 60 && wall % 60 === 0),
    });
  }
  return ticks.filter((tick) => tick.at >= from && tick.at <= to);
}

function clockLabel(unix: number, zone: string, step: number, isMidnight: boolean): string {
  const text = wallClock(unix, zone);
  if (isMidnight) return `${MONTHS[Number(text.slice(5, 7)) - 1]} ${Number(text.slice(8, 10))}`;
  if (step >= 60) return text.slice(11, 16);
  return text.slice(11, step >= 1 ? 19 : step >= 0.1 ? 21 : 23);
}

/** About `count` values from `low` to `high` in steps of 1, 2 or 5 times a power of ten. */
export function niceTicks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10) * power;
  return multiples(low, high, step).map((value) => Number(value.toPrecision(12)));
}

/** Ticks of a logarithmic axis: decades, with 2 and 5 between them if there are few decades. */
export function logarithmicTicks(low: number, high: number, count: number): number[] {
  if (!(low > 0) || !(high > low) || !Number.isFinite(high)) return [];
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const every = Math.max(1, Math.ceil((last - first) / Math.max(1, count)));
  const factors = last - first <= 2 ? [1, 2, 5] : [1];
  const values: number[] = [];
  for (let power = first; power <= last; power += every)
    values.push(...factors.map((factor) => Number(`${factor}e${power}`)));
  return values.filter((at) => at >= low && at <= high);
}

/** The upper end of an axis that starts at zero, slightly above `high`. */
export function niceCeiling(high: number): number {
  if (!(high > 0)) return 1;
  const target = high * 1.05;
  const power = 10 ** Math.floor(Math.log10(target));
  return (
    ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= target) ?? 10) * power
  );
}
