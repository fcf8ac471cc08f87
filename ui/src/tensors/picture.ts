// A tensor as pixels and as texts: the card's color is zero, one color above it, another below.

import type { Rgb } from "../views/heat_colors";
import type { ValueCell } from "./source";

export type PictureColors = { card: Rgb; above: Rgb; below: Rgb; wrong: Rgb };

/** Four bytes per value; what is no number has a color of its own. */
export function pixelsOf(values: readonly ValueCell[], colors: PictureColors): Uint8ClampedArray {
  let largest = 0;
  for (const value of values)
    if (typeof value === "number") largest = Math.max(largest, Math.abs(value));
  const pixels = new Uint8ClampedArray(values.length * 4);
  values.forEach((value, i) => {
    const share =
      typeof value === "number" && largest > 0 ? Math.sqrt(Math.abs(value) / largest) : 0;
    const over =
      typeof value !== "number" ? colors.wrong : value >= 0 ? colors.above : colors.below;
    const part = typeof value === "number" ? share : 1;
    for (const c of [0, 1, 2] as const)
      pixels[4 * i + c] = colors.card[c] + (over[c] - colors.card[c]) * part;
    pixels[4 * i + 3] = 255;
  });
  return pixels;
}

/** Four digits that count; a minus as wide as a digit. */
export function exactText(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value).replace("-", "\u2212");
  const text = size >= 1e-4 && size < 1e6 ? value.toPrecision(4) : value.toExponential(2);
  return text.replaceAll("-", "\u2212");
}
