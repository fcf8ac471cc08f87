// Arithmetic on time windows: pairs of seconds since the start of the job.

export type Range = readonly [number, number];

export const MIN_SECONDS = 1e-5;

export function clampRange(range: Range, extent: Range): Range {
  const total = extent[1] - extent[0];
  const width = Math.min(total, Math.max(MIN_SECONDS, range[1] - range[0]));
  const start = Math.min(extent[1] - width, Math.max(extent[0], range[0]));
  return [start, start + width];
}

/** Zooms around a point; factor 2 shows twice the time. */
export function zoomRange(range: Range, factor: number, around: number, extent: Range): Range {
  const width = Math.max(MIN_SECONDS, (range[1] - range[0]) * factor);
  const share = (around - range[0]) / (range[1] - range[0]);
  return clampRange([around - share * width, around + (1 - share) * width], extent);
}

export function panRange(range: Range, share: number, extent: Range): Range {
  const by = (range[1] - range[0]) * share;
  return clampRange([range[0] + by, range[1] + by], extent);
}

export function ordered(a: number, b: number): Range {
  return a <= b ? [a, b] : [b, a];
}

export function isSame(a: Range | null, b: Range | null): boolean {
  if (a === null || b === null) return a === b;
  const slack = Math.max(a[1] - a[0], b[1] - b[0]) * 1e-6;
  return Math.abs(a[0] - b[0]) <= slack && Math.abs(a[1] - b[1]) <= slack;
}

/** A range as a URL parameter: 420-700. */
export function rangeText(range: Range): string {
  const width = range[1] - range[0];
  const digits = Math.min(6, Math.max(0, Math.ceil(4 - Math.log10(width))));
  return range.map((value) => Number(value.toFixed(digits)).toString()).join("-");
}

export function parseRange(text: string | undefined): Range | null {
  const match = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? "");
  if (!match) return null;
  const range: Range = [Number(match[1]), Number(match[2])];
  return range[1] > range[0] ? range : null;
}
