// Device ranges such as "0-7,11", parsed and formatted.

/** Parses numbers and ranges such as 0-7,11; null if invalid. Numbers from `count` on are ignored. */
export function parseDevices(text: string, count: number): number[] | null {
  const indices = new Set<number>();
  for (const token of text.split(/[\s,]+/).filter(Boolean)) {
    const match = /^(\d+)(?:\s*[-–]\s*(\d+))?$/.exec(token);
    if (!match) return null;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first) return null;
    for (let i = first; i <= Math.min(last, count - 1); i++) indices.add(i);
  }
  return [...indices].sort((a, b) => a - b);
}

/** Formats numbers as ranges. */
export function formatDevices(devices: readonly number[]): string {
  const ranges: string[] = [];
  const ordered = [...devices].sort((a, b) => a - b);
  for (let i = 0; i < ordered.length; i++) {
    const first = ordered[i]!;
    while (ordered[i + 1] === ordered[i]! + 1) i += 1;
    const last = ordered[i]!;
    ranges.push(
      first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
    );
  }
  return ranges.join(",");
}

/** Indices of the largest finite values, largest first. */
export function busiest(values: ArrayLike<number>, count: number): number[] {
  return Array.from({ length: values.length }, (_, i) => i)
    .filter((i) => Number.isFinite(values[i]!))
    .sort((a, b) => values[b]! - values[a]! || a - b)
    .slice(0, count);
}
