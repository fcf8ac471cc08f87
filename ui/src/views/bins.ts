// Merges histogram bins until each is wide enough to be visible.

import type { BarSeries, Reals } from "../generated/chart_specs";

export interface Bins {
  edges: number[];
  groups: { label: string; tone: string; counts: number[] }[];
}

/** Merges neighboring bins until there are at most `maxBins`. */
export function binsFor(edges: Reals, groups: readonly BarSeries[], maxBins: number): Bins {
  const finiteEdges = edges.map((edge) => edge ?? Number.NaN);
  const bins = Math.max(0, finiteEdges.length - 1);
  const merged = Math.max(1, Math.ceil(bins / Math.max(1, maxBins)));
  const mergedEdges = finiteEdges.filter((_, index) => index % merged === 0);
  if (bins % merged !== 0) mergedEdges.push(finiteEdges[bins] as number);
  return {
    edges: mergedEdges,
    groups: groups.map(({ label, tone, values }) => ({
      label,
      tone,
      counts: summed(values.slice(0, bins), merged),
    })),
  };
}

/** The highest bin of the visible groups, which are drawn over each other. */
export function highestCount(bins: Bins, isShown: (label: string) => boolean): number {
  const shown = bins.groups.filter((group) => isShown(group.label));
  return Math.max(1, ...shown.flatMap((group) => group.counts));
}

/** The outline of a group in a box of 100 by 100. */
export function outline(
  edges: readonly number[],
  counts: readonly number[],
  highest: number,
  x: (edge: number) => number,
): string {
  const points = counts.map((count, bin) => {
    const y = round(100 - (count / highest) * 100);
    return `V${y}H${round(x(edges[bin + 1] ?? 0))}`;
  });
  return `M${round(x(edges[0] ?? 0))} 100${points.join("")}V100`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function summed(values: Reals, merged: number): number[] {
  const sums: number[] = [];
  values.forEach((value, index) => {
    const bin = Math.floor(index / merged);
    sums[bin] = (sums[bin] ?? 0) + (value ?? 0);
  });
  return sums;
}
