// A curve as small as a word: an SVG path, broken where nothing is known.

type Values = readonly (number | null)[];

/** The path of the values in a box; empty where fewer than two are known. */
export function sparkPath(values: Values, width: number, height: number): string {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  if (known.length < 2) return "";
  const low = Math.min(...known);
  const span = Math.max(...known) - low;
  const x = (index: number) => round((index / Math.max(1, values.length - 1)) * width);
  const y = (value: number) => round(span ? height - ((value - low) / span) * height : height / 2);
  let path = "";
  let isDrawing = false;
  values.forEach((value, index) => {
    const isKnown = value !== null && Number.isFinite(value);
    if (isKnown) path += `${isDrawing ? "L" : "M"}${x(index)} ${y(value)}`;
    isDrawing = isKnown;
  });
  return path;
}

/** What a reader who sees no curve is told. */
export function sparkWords(
  label: string,
  values: Values,
  write: (value: number) => string,
): string {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  const first = known[0];
  const last = known[known.length - 1];
  if (first === undefined || last === undefined) return "";
  return `${label} from ${write(first)} to ${write(last)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
