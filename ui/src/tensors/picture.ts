// A tensor as pixels: zero has the color of the card, positive and negative values have one color each.

import type { Rgb } from "../views/heat_colors";
import type { ValueCell } from "./source";

export type PictureColors = { card: Rgb; above: Rgb; below: Rgb; wrong: Rgb };

/** RGBA pixels of the values; non-finite values have a special color. */
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
    const weight = typeof value === "number" ? share : 1;
    for (const c of [0, 1, 2] as const)
      pixels[4 * i + c] = colors.card[c] + (over[c] - colors.card[c]) * weight;
    pixels[4 * i + 3] = 255;
  });
  return pixels;
}
