// Which devices are meant: "0-7,11" and back.

/** Numbers of a text such as 0-7,11; null where it is no such text. Numbers from `count` on are left out. */
export function parseDevices(text: string, count: number): number[] | null {
  const found = new Set<number>();
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const match = /^(\d+)(?:\s*[-–]\s*(\d+))?$/.exec(part);
    if (!match) return null;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first) return null;
    for (let i = first; i <= Math.min(last, count - 1); i++) found.add(i);
  }
  return [...found].sort((a, b) => a - b);
}

/** The shortest text for some numbers. */
export function formatDevices(devices: readonly number[]): string {
  const parts: string[] = [];
  const ordered = [...devices].sort((a, b) => a - b);
  for (let i = 0; i < ordered.length; i++) {
    const first = ordered[i]!;
    while (ordered[i + 1] === ordered[i]! + 1) i += 1;
    const last = ordered[i]!;
    parts.push(
      first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
    );
  }
  return parts.join(",");
}

/** Indices of the largest values, largest first; what is not known is never among them. */
export function busiest(values: ArrayLike<number>, count: number): number[] {
  return Array.from({ length: values.length }, (_, i) => i)
    .filter((i) => Number.isFinite(values[i]!))
    .sort((a, b) => values[b]! - values[a]! || a - b)
    .slice(0, count);
}
