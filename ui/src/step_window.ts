// Which steps the curves of a page show: one window for all of them, kept in the address.

import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { parseRange, type Range, rangeText } from "./range";
import { route, setParameters } from "./router";

/** The part of each axis that is shown, by what the axis counts; null is all of it. */
export const axisWindows = signal<Readonly<Record<string, Range | null>>>({});

export function showOnAxis(axis: string, range: Range | null): void {
  axisWindows.value = { ...axisWindows.peek(), [axis]: range };
}

const STEPS = "Step";

/** For a page whose curves go over steps: the window stands in the address, and is taken from it. */
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
