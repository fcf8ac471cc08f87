// Which color a tone of a spec has: the same thing has the same color on every page.

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

/** The tone of a place that is the same in several charts. */
export const placeTone = (place: number): string => `place ${place}`;

/** The style variable of a tone; without a tone, that of a place among others. */
export function toneVariable(tone: string, place: number): string {
  if (tone.startsWith("place ")) return toneVariable("", Number(tone.slice(6)));
  if (tone) return TONES[tone] ?? phaseColor(tone);
  return LINES[place % LINES.length] ?? LINES[0];
}

/** The same, as a value of a style. */
export function toneColor(tone: string, place: number): string {
  return `var(${toneVariable(tone, place)})`;
}
