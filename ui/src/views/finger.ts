// One finger on curves over steps does what a mouse does: a drag zooms. A tap reads without our help.

import type uPlot from "uplot";

const NOTHING = { left: 0, top: 0, width: 0, height: 0 };

/** What lies between two places, as far as it is on the plot. */
export function stretch(from: number, to: number, width: number): { left: number; width: number } {
  const [low, high] = [Math.min(from, to), Math.max(from, to)].map((x) =>
    Math.min(width, Math.max(0, x)),
  ) as [number, number];
  return { left: low, width: high - low };
}

/** Hands the drags of one finger to the plot; a second finger, or a page that scrolls, ends them. */
export function listenToFinger(plot: uPlot): void {
  let from: number | null = null;
  const at = (event: PointerEvent): number =>
    event.clientX - plot.over.getBoundingClientRect().left;
  const select = (event: PointerEvent, isDone: boolean): void => {
    if (from === null) return;
    const { clientWidth, clientHeight } = plot.over;
    plot.setSelect(
      { ...stretch(from, at(event), clientWidth), top: 0, height: clientHeight },
      isDone,
    );
  };
  const forget = (): void => {
    if (from !== null) plot.setSelect(NOTHING, false);
    from = null;
  };
  plot.over.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    if (!event.isPrimary) return forget();
    from = at(event);
    plot.over.setPointerCapture(event.pointerId);
  });
  plot.over.addEventListener("pointermove", (event) => select(event, false));
  plot.over.addEventListener("pointerup", (event) => {
    select(event, true);
    forget();
  });
  plot.over.addEventListener("pointercancel", forget);
}
