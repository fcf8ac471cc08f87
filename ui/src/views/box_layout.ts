// Geometry of box plots in percent of the width.

import type { Box } from "../generated/chart_specs";

export interface BoxGeometry {
  whisker: [number, number];
  box: [number, number];
  median: number;
  extremes: [number, number];
}

/** The ends of the axis: as specified, or the range of the boxes, with zero if it is near. */
export function boxDomain(
  boxes: readonly Box[],
  low: number | null,
  high: number | null,
): [number, number] {
  const minimum = Math.min(...boxes.map((box) => box.minimum));
  const maximum = Math.max(...boxes.map((box) => box.maximum));
  const start = low ?? (minimum > 0 && minimum < maximum / 2 ? 0 : minimum);
  const end = high ?? maximum;
  if (!Number.isFinite(start) || !Number.isFinite(end)) return [0, 1];
  return end > start ? [start, end] : [start, start + (Math.abs(start) || 1)];
}

/** The position of a box on the axis. */
export function boxGeometry(box: Box, [low, high]: [number, number]): BoxGeometry {
  const percentAt = (value: number) =>
    Math.min(100, Math.max(0, ((value - low) / (high - low)) * 100));
  return {
    whisker: [percentAt(box.p5), percentAt(box.p95)],
    box: [percentAt(box.p25), percentAt(box.p75)],
    median: percentAt(box.p50),
    extremes: [percentAt(box.minimum), percentAt(box.maximum)],
  };
}
