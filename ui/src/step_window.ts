// The step window shared by all curves of a page, stored in the URL.

import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { parseRange, type Range, rangeText } from "./range";
import { route, setParameters } from "./router";

/** The visible range of each axis by its title; null shows all. */
export const axisWindows = signal<Readonly<Record<string, Range | null>>>({});

export function showOnAxis(axis: string, range: Range | null): void {
  axisWindows.value = { ...axisWindows.peek(), [axis]: range };
}

const STEPS = "Step";

/** Synchronizes the step window with the URL. */
export function useStepsInAddress(): void {
  useEffect(() => {
    showOnAxis(STEPS, parseRange(route.peek().parameters.steps));
    const stop = effect(() => {
      const range = axisWindows.value[STEPS] ?? null;
      setParameters({ steps: range ? rangeText(range) : null });
    });
    return () => {
      stop();
      showOnAxis(STEPS, null);
    };
  }, []);
}
