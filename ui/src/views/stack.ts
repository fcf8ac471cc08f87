// How a bar is divided among its parts.

import type { Part } from "../specs";

export interface Slice {
  label: string;
  tone: string;
  value: number;
  percent: number;
  place: number;
}

/** The parts of one bar in percent of the longest; what is nothing has no slice. */
export function stackOf(parts: readonly Part[], row: number, most: number): Slice[] {
  return parts
    .map(({ label, tone, values }, place) => {
      const value = Math.max(0, values[row] ?? 0);
      return { label, tone, value, percent: (value / most) * 100, place };
    })
    .filter((slice) => slice.value > 0);
}
