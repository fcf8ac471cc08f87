// Color ramps, interpolated between stops of the style sheet.

export type Rgb = readonly [number, number, number];

/** Parses `#rrggbb`. */
export function parseColor(text: string): Rgb {
  const value = Number.parseInt(text.replace("#", ""), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** The color at a position between 0 and 1. */
export function rampAt(stops: readonly Rgb[], share: number): Rgb {
  const position = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const below = Math.min(stops.length - 2, Math.floor(position));
  const [low, high] = [stops[below] ?? [0, 0, 0], stops[below + 1] ?? [0, 0, 0]] as [Rgb, Rgb];
  const mix = (index: 0 | 1 | 2): number =>
    Math.round(low[index] + (high[index] - low[index]) * (position - below));
  return [mix(0), mix(1), mix(2)];
}

/** The position of a value between two others; null if it is missing. */
export function shareOf(
  value: number | null | undefined,
  low: number,
  high: number,
  isLogarithmic: boolean,
): number | null {
  if (value === null || value === undefined || !Number.isFinite(value)) return null;
  if (!(high > low)) return 1;
  if (!isLogarithmic) return (value - low) / (high - low);
  if (value <= 0) return 0;
  const lowest = low > 0 ? low : high / 1e6;
  return Math.log(value / lowest) / Math.log(high / lowest);
}
