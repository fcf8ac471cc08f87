// Where the parts of a box plot lie, in percent of its width.

import type { Box } from "../specs";

export interface BoxPlaces {
  whisker: [number, number];
  box: [number, number];
  median: number;
  extremes: [number, number];
}

/** The ends of the axis: as told, else what the boxes reach, with zero where it is near. */
export function boxDomain(
  boxes: readonly Box[],
  low: number | null,
  high: number | null,
): [number, number] {
  const least = Math.min(...boxes.map((one) => one.minimum));
  const most = Math.max(...boxes.map((one) => one.maximum));
  const start = low ?? (least > 0 && least < most / 2 ? 0 : least);
  const end = high ?? most;
  if (!Number.isFinite(start) || !Number.isFinite(end)) return [0, 1];
  return end > start ? [start, end] : [start, start + (Math.abs(start) || 1)];
}

/** One box on that axis. */
export function boxPlaces(one: Box, [low, high]: [number, number]): BoxPlaces {
  const place = (value: number) => Math.min(100, Math.max(0, ((value - low) / (high - low)) * 100));
  return {
    whisker: [place(one.p5), place(one.p95)],
    box: [place(one.p25), place(one.p75)],
    median: place(one.p50),
    extremes: [place(one.minimum), place(one.maximum)],
  };
}
