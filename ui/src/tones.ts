// Colors of the tones in chart specs, the same on every page.

import { LINES, phaseColor, SEVERITY } from "./colors";

const TONES: Record<string, string> = {
  ...SEVERITY,
  initialization: "--c4",
  training_loop: "--c1",
  finalization: "--c7",
  interruption: "--base",
  cpu: "--c1",
  gpu: "--c3",
  memory: "--c7",
  good: "--ok",
  quiet: "--base",
};

/** The tone of a series that has the same color in several charts. */
export const seriesTone = (index: number): string => `series ${index}`;

/** The CSS variable of a tone; without a tone, the color of the series index. */
export function toneVariable(tone: string, index: number): string {
  if (tone.startsWith("series ")) return toneVariable("", Number(tone.slice("series ".length)));
  if (tone) return TONES[tone] ?? phaseColor(tone);
  return LINES[index % LINES.length] ?? LINES[0];
}

/** The color of a tone as a CSS value. */
export function toneColor(tone: string, index: number): string {
  return `var(${toneVariable(tone, index)})`;
}
