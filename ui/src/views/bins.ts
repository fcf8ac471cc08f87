// A histogram for the eye: few enough bins that each can be seen.

import type { Part, Reals } from "../specs";

export interface Bins {
  edges: number[];
  parts: { label: string; tone: string; counts: number[] }[];
}

/** Neighbouring bins together, until there are at most `most`; counts add up. */
export function binsFor(edges: Reals, parts: readonly Part[], most: number): Bins {
  const known = edges.map((edge) => edge ?? Number.NaN);
  const bins = Math.max(0, known.length - 1);
  const together = Math.max(1, Math.ceil(bins / Math.max(1, most)));
  const kept = known.filter((_, index) => index % together === 0);
  if (bins % together !== 0) kept.push(known[bins] as number);
  return {
    edges: kept,
    parts: parts.map(({ label, tone, values }) => ({
      label,
      tone,
      counts: summed(values.slice(0, bins), together),
    })),
  };
}

/** The highest bin of the parts that are shown; one part lies over the other. */
export function highestCount(bins: Bins, isShown: (label: string) => boolean): number {
  const shown = bins.parts.filter((part) => isShown(part.label));
  return Math.max(1, ...shown.flatMap((part) => part.counts));
}

/** The outline of a part over a box of 100 by 100: up and down at the edges. */
export function outline(
  edges: readonly number[],
  counts: readonly number[],
  most: number,
  x: (edge: number) => number,
): string {
  const points = counts.map((count, bin) => {
    const y = round(100 - (count / most) * 100);
    return `V${y}H${round(x(edges[bin + 1] ?? 0))}`;
  });
  return `M${round(x(edges[0] ?? 0))} 100${points.join("")}V100`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function summed(values: Reals, together: number): number[] {
  const found: number[] = [];
  values.forEach((value, index) => {
    const bin = Math.floor(index / together);
    found[bin] = (found[bin] ?? 0) + (value ?? 0);
  });
  return found;
}
