// Histograms of a tensor over steps: axes, shares and quantiles, independent of the canvas.

import type { Histograms } from "./source";

/** Positions of bins of equal width on an axis from 0 to 1, with a slot for zeros between negative and positive bins. */
export type BinAxis = { from: number[]; to: number[]; zero: readonly [number, number] | null };

export function binAxis(edges: readonly number[], hasZeros: boolean): BinAxis {
  const bins = Math.max(0, edges.length - 1);
  const below = edges.slice(0, bins).filter((edge) => edge < 0).length;
  const slots = bins + (hasZeros ? 1 : 0);
  const from: number[] = [],
    to: number[] = [];
  for (let bin = 0; bin < bins; bin++) {
    const slot = bin + (hasZeros && bin >= below ? 1 : 0);
    from.push(slot / slots);
    to.push((slot + 1) / slots);
  }
  return { from, to, zero: hasZeros ? [below / slots, (below + 1) / slots] : null };
}

/** The share of a step's values in each bin, and the share of zeros. */
export function sharesAt(data: Histograms, row: number): { shares: number[]; zeros: number } {
  let total = data.zeros[row] ?? 0;
  for (let bin = 0; bin < data.bins; bin++) total += data.counts[row * data.bins + bin]!;
  const shares = Array.from({ length: data.bins }, (_, bin) =>
    total ? data.counts[row * data.bins + bin]! / total : 0,
  );
  return { shares, zeros: total ? (data.zeros[row] ?? 0) / total : 0 };
}

/** The largest share of any bin at any step, excluding zeros. */
export function highestShare(data: Histograms): number {
  let highest = 0;
  for (let row = 0; row < data.steps.length; row++)
    highest = Math.max(highest, ...sharesAt(data, row).shares, 0);
  return highest;
}

/** About `count` evenly spaced rows, including the first and the last. */
export function chosenRows(total: number, count: number): number[] {
  if (total <= count) return Array.from({ length: total }, (_, row) => row);
  return Array.from({ length: count }, (_, i) => Math.round((i * (total - 1)) / (count - 1)));
}

/** A quantile, interpolated within a bin; NaN without values. */
export function quantileAt(data: Histograms, row: number, fraction: number): number {
  const { shares, zeros } = sharesAt(data, row);
  const below = data.edges.slice(0, data.bins).filter((edge) => edge < 0).length;
  let sum = 0;
  for (let bin = 0; bin <= data.bins; bin++) {
    if (bin === below && zeros > 0) {
      if (sum + zeros >= fraction) return 0;
      sum += zeros;
    }
    const share = shares[bin] ?? 0;
    if (share > 0 && sum + share >= fraction - 1e-12) {
      const fractionOfBin = Math.min(1, (fraction - sum) / share);
      return data.edges[bin]! + (data.edges[bin + 1]! - data.edges[bin]!) * fractionOfBin;
    }
    sum += share;
  }
  return NaN;
}

/** Up to about `count` labeled edges with their positions on the axis. */
export function edgeLabels(
  edges: readonly number[],
  axis: BinAxis,
  count: number,
): { at: number; value: number }[] {
  const labels: { at: number; value: number }[] = [];
  const every = Math.max(1, Math.ceil(edges.length / count));
  edges.forEach((value, i) => {
    if ((value === 0 && axis.zero) || i % every !== 0) return;
    labels.push({ at: i < axis.from.length ? axis.from[i]! : axis.to[axis.to.length - 1]!, value });
  });
  if (axis.zero) {
    const [from, to] = axis.zero;
    const room = 0.6 / count;
    return [
      ...labels.filter(
        (label) => Math.abs(label.at - from) > room && Math.abs(label.at - to) > room,
      ),
      { at: (from + to) / 2, value: 0 },
    ];
  }
  return labels;
}

const OUTSIDE = 0.002;

/** Converts to bins of equal width over the range of nearly all values; counts are distributed evenly, zeros are separate. */
export function linearBins(data: Histograms, bins: number): Histograms {
  let low = Infinity,
    high = -Infinity;
  for (let row = 0; row < data.steps.length; row++) {
    const [from, to] = [quantileAt(data, row, OUTSIDE), quantileAt(data, row, 1 - OUTSIDE)];
    if (from < low) low = from;
    if (to > high) high = to;
  }
  if (!(high > low)) return data;
  const width = (high - low) / bins;
  const edges = Array.from({ length: bins + 1 }, (_, i) => low + i * width);
  const counts = new Float64Array(data.steps.length * bins);
  for (let row = 0; row < data.steps.length; row++) {
    for (let bin = 0; bin < data.bins; bin++) {
      const count = data.counts[row * data.bins + bin]!;
      if (count)
        distribute(
          counts,
          row * bins,
          { count, from: data.edges[bin]!, to: data.edges[bin + 1]! },
          { low, width, bins },
        );
    }
  }
  return { ...data, edges, bins, counts };
}

function distribute(
  into: Float64Array,
  offset: number,
  source: { count: number; from: number; to: number },
  axis: { low: number; width: number; bins: number },
): void {
  const first = Math.floor((source.from - axis.low) / axis.width),
    last = Math.floor((source.to - axis.low) / axis.width);
  for (let bin = Math.max(0, first); bin <= Math.min(axis.bins - 1, last); bin++) {
    const start = Math.max(source.from, axis.low + bin * axis.width),
      end = Math.min(source.to, axis.low + (bin + 1) * axis.width);
    into[offset + bin]! += (source.count * Math.max(0, end - start)) / (source.to - source.from);
  }
}
