// Colors of the style sheet for canvases, and the color of each phase and severity.

import { effect } from "@preact/signals";
import { shownTheme } from "./state";

const resolved = new Map<string, string>();

/** The value of a CSS variable in the current theme. */
export function color(name: string): string {
  let value = resolved.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
    resolved.set(name, value);
  }
  return value;
}

export function startColors(): void {
  effect(() => {
    void shownTheme.value;
    resolved.clear();
  });
}

/** Distinct colors for lines in one chart; the mean gets the first. */
export const LINES = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c7", "--c8", "--c6"] as const;

const PHASES: Record<string, string> = {
  data_wait: "--c2",
  forward: "--c1",
  backward: "--c3",
  optimizer: "--c4",
  checkpoint: "--c5",
  evaluation: "--c7",
  eval: "--c7",
  collective: "--c6",
  communication: "--c6",
  host_to_device: "--c8",
  between: "--base",
  step: "--grid",
  other: "--base",
  others: "--base",
  train: "--c1",
};

/** The CSS variable of a phase; custom phases get a color by their name. */
export function phaseColor(phase: string): string {
  const fixed = PHASES[phase];
  if (fixed) return fixed;
  let sum = 0;
  for (const letter of phase) sum = (sum * 31 + letter.codePointAt(0)!) % 997;
  return ["--c5", "--c6", "--c7", "--c8"][sum % 4]!;
}

export const phaseName = (phase: string): string => phase.replaceAll("_", " ");

export const SEVERITY: Record<string, string> = {
  critical: "--bad",
  warning: "--warn",
  info: "--c1",
};
