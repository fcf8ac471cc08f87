// Color scales of layer statistics, independent of the canvas.

/** Special positions on the color scale: exact zeros, non-finite values and missing values. */
export const ZERO = -1,
  NOT_FINITE = -2,
  UNKNOWN = -3;
export type HeatScale = { low: number; high: number; isLogarithmic: boolean };

const LOGARITHMIC = new Set([
  "l2_norm",
  "l1_norm",
  "abs_mean",
  "abs_max",
  "abs_min",
  "abs_std",
  "abs_variance",
  "abs_sum",
  "std",
  "variance",
  "update_ratio",
]);
const MAX_RATIO = 1e12;

/** The scale of a statistic: logarithmic for magnitudes, from 0 to 1 for fractions. */
export function scaleFor(reduction: string, values: ArrayLike<number>): HeatScale {
  if (reduction === "zero_fraction") return { low: 0, high: 1, isLogarithmic: false };
  let low = Infinity,
    high = -Infinity,
    isPositive = true,
    hasZeros = false;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    hasZeros ||= value === 0;
    if (!Number.isFinite(value) || value === 0) continue;
    isPositive &&= value > 0;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return { low: 0, high: 1, isLogarithmic: hasZeros && LOGARITHMIC.has(reduction) };
  if (LOGARITHMIC.has(reduction) && isPositive)
    return { low: Math.max(low, high / MAX_RATIO), high, isLogarithmic: true };
  return { low: Math.min(0, low), high: Math.max(0, high), isLogarithmic: false };
}

/** The position of a value on the scale, from 0 to 1; or ZERO, NOT_FINITE or UNKNOWN. */
export function shareOn(scale: HeatScale, value: number): number {
  if (Number.isNaN(value)) return UNKNOWN;
  if (!Number.isFinite(value)) return NOT_FINITE;
  if (scale.isLogarithmic) {
    if (value <= 0) return ZERO;
    if (scale.high <= scale.low) return 1;
    return Math.min(1, Math.max(0, Math.log(value / scale.low) / Math.log(scale.high / scale.low)));
  }
  return scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 0;
}

/** The first, last, smallest and largest value of a row; NaN if it is empty. */
export function rowFigures(
  values: ArrayLike<number>,
  row: number,
  columns: number,
): { first: number; last: number; low: number; high: number } {
  const figures = { first: NaN, last: NaN, low: NaN, high: NaN };
  for (let i = row * columns; i < (row + 1) * columns; i++) {
    const value = values[i]!;
    if (Number.isNaN(value)) continue;
    if (Number.isNaN(figures.first)) figures.first = value;
    figures.last = value;
    if (!(figures.low <= value)) figures.low = value;
    if (!(figures.high >= value)) figures.high = value;
  }
  return figures;
}

/** The row height that fits all rows into a height, between 4 and 17 pixels. */
export function rowHeight(rows: number, height: number): number {
  return Math.max(4, Math.min(17, Math.floor(height / Math.max(1, rows))));
}

/** Truncates the start of a name, because layers differ at the end. */
export function shortTensor(name: string, letters: number): string {
  return name.length <= letters ? name : `…${name.slice(name.length - letters + 1)}`;
}
