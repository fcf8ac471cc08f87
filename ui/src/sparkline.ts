// Sparklines as SVG paths, with gaps at missing values.

type Values = readonly (number | null)[];

/** The path of the values in a box; empty with fewer than two finite values. */
export function sparkPath(values: Values, width: number, height: number): string {
  const finite = values.filter(
    (value): value is number => value !== null && Number.isFinite(value),
  );
  if (finite.length < 2) return "";
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low;
  const x = (index: number) => round((index / Math.max(1, values.length - 1)) * width);
  const y = (value: number) => round(span ? height - ((value - low) / span) * height : height / 2);
  let path = "";
  let isDrawing = false;
  values.forEach((value, index) => {
    const hasValue = value !== null && Number.isFinite(value);
    if (hasValue) path += `${isDrawing ? "L" : "M"}${x(index)} ${y(value)}`;
    isDrawing = hasValue;
  });
  return path;
}

/** The sparkline as text for screen readers. */
export function sparkLabel(
  label: string,
  values: Values,
  format: (value: number) => string,
): string {
  const finite = values.filter(
    (value): value is number => value !== null && Number.isFinite(value),
  );
  const first = finite[0];
  const last = finite[finite.length - 1];
  if (first === undefined || last === undefined) return "";
  return `${label} from ${format(first)} to ${format(last)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
