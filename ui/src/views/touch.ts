// Touch support for curves over steps: dragging with one finger zooms.

import type uPlot from "uplot";

const NOTHING = { left: 0, top: 0, width: 0, height: 0 };

/** The range between two positions, clamped to the plot. */
export function clampedSpan(
  from: number,
  to: number,
  width: number,
): { left: number; width: number } {
  const [low, high] = [Math.min(from, to), Math.max(from, to)].map((x) =>
    Math.min(width, Math.max(0, x)),
  ) as [number, number];
  return { left: low, width: high - low };
}

/** Turns drags of one finger into selections; a second finger or scrolling cancels them. */
export function attachTouch(plot: uPlot): void {
  let from: number | null = null;
  const at = (event: PointerEvent): number =>
    event.clientX - plot.over.getBoundingClientRect().left;
  const select = (event: PointerEvent, isDone: boolean): void => {
    if (from === null) return;
    const { clientWidth, clientHeight } = plot.over;
    plot.setSelect(
      { ...clampedSpan(from, at(event), clientWidth), top: 0, height: clientHeight },
      isDone,
    );
  };
  const cancel = (): void => {
    if (from !== null) plot.setSelect(NOTHING, false);
    from = null;
  };
  plot.over.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    if (!event.isPrimary) return cancel();
    from = at(event);
    plot.over.setPointerCapture(event.pointerId);
  });
  plot.over.addEventListener("pointermove", (event) => select(event, false));
  plot.over.addEventListener("pointerup", (event) => {
    select(event, true);
    cancel();
  });
  plot.over.addEventListener("pointercancel", cancel);
}
