// Segments of stacked bars.

import type { BarSeries } from "../generated/chart_specs";

export interface Slice {
  label: string;
  tone: string;
  value: number;
  percent: number;
  index: number;
}

/** The segments of a bar in percent of the longest; zero values have none. */
export function stackOf(series: readonly BarSeries[], row: number, longest: number): Slice[] {
  return series
    .map(({ label, tone, values }, index) => {
      const value = Math.max(0, values[row] ?? 0);
      return { label, tone, value, percent: (value / longest) * 100, index: index };
    })
    .filter((slice) => slice.value > 0);
}
