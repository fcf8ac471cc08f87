// Conversion of heatmap codes to pixels and values, independent of the canvas.

export const MISSING = 255;
export const CODES_PER_PERCENT = 2;

export type Rgb = readonly [number, number, number];
/** Rows of `columns` codes each, 0..200 for 0–100%; column i covers `width` seconds from `start` + i × width. */
export type Heat = {
  rows: number;
  columns: number;
  start: number;
  width: number;
  codes: Uint8Array;
};

export function parseColor(text: string): Rgb {
  const hex = /^#([0-9a-f]{6})$/i.exec(text.trim())?.[1];
  if (!hex) return [136, 136, 136];
  const value = Number.parseInt(hex, 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** A color for each code: `stops` from code `low` to `high`, and one for missing values. */
export function rampTable(stops: readonly Rgb[], missing: Rgb, low = 0, high = 200): Uint32Array {
  const table = new Uint32Array(256);
  const pack = ([r, g, b]: Rgb): number =>
    ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
  for (let code = 0; code < 255; code++) {
    const share = Math.min(1, Math.max(0, (code - low) / Math.max(1, high - low)));
    const at = share * (stops.length - 1);
    const i = Math.min(stops.length - 2, Math.floor(at));
    const [from, to] = [stops[i]!, stops[i + 1]!];
    table[code] = pack(
      [0, 1, 2].map((c) => from[c]! + (to[c]! - from[c]!) * (at - i)) as unknown as Rgb,
    );
  }
  table[MISSING] = pack(missing);
  return table;
}

/** Writes rows in the specified order as pixels, one per cell. */
export function paintCodes(
  heat: Heat,
  order: readonly number[],
  table: Uint32Array,
  into: Uint32Array,
): void {
  const { columns, codes } = heat;
  for (let y = 0; y < order.length; y++) {
    const from = order[y]! * columns;
    const to = y * columns;
    for (let x = 0; x < columns; x++) into[to + x] = table[codes[from + x]!]!;
  }
}

/** The value of a cell at a time, in percent; NaN if missing. */
export function heatAt(heat: Heat, row: number, time: number): number {
  const column = Math.floor((time - heat.start) / heat.width);
  if (row < 0 || row >= heat.rows || column < 0 || column >= heat.columns) return NaN;
  const code = heat.codes[row * heat.columns + column]!;
  return code === MISSING ? NaN : code / CODES_PER_PERCENT;
}

/** Mean percent of each row between two times. */
export function rowMeans(heat: Heat, from: number, to: number): Float64Array {
  const first = Math.max(0, Math.floor((from - heat.start) / heat.width));
  const last = Math.min(heat.columns, Math.ceil((to - heat.start) / heat.width));
  const means = new Float64Array(heat.rows);
  for (let row = 0; row < heat.rows; row++) {
    let sum = 0,
      count = 0;
    for (let column = first; column < last; column++) {
      const code = heat.codes[row * heat.columns + column]!;
      if (code !== MISSING) {
        sum += code;
        count += 1;
      }
    }
    means[row] = count ? sum / count / CODES_PER_PERCENT : NaN;
  }
  return means;
}

/** The lowest and highest code in the data. */
export function codeExtent(codes: Uint8Array): [number, number] {
  let low = 200,
    high = 0;
  for (const code of codes) {
    if (code === MISSING) continue;
    if (code < low) low = code;
    if (code > high) high = code;
  }
  return high > low ? [low, high] : [0, 200];
}
