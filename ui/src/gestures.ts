// Mouse, wheel, touch and keyboard control of the time window, the same on every chart over time.

import { clampRange, ordered, type Range, zoomRange } from "./range";
import {
  extent,
  hover,
  panBy,
  selection,
  setSelection,
  setView,
  showAll,
  view,
  zoomBy,
} from "./state";

/** Left and right margins of every chart over time, in pixels, so that their time axes align. */
export const GUTTER = 76;
export const RIGHT = 124;
/** On phones the margins would take more than half of the width. */
const NARROW = { below: 520, left: 52, right: 46 };

/** The margins of a chart of this width. */
export function margins(width: number): { left: number; right: number; plot: number } {
  const isNarrow = width < NARROW.below;
  const [left, right] = isNarrow ? [NARROW.left, NARROW.right] : [GUTTER, RIGHT];
  return { left, right, plot: Math.max(1, width - left - right) };
}

/** Whether a chart of this width has room for names in its right margin. */
export const hasWideMargin = (width: number): boolean => margins(width).right === RIGHT;

export type DragMode = "zoom" | "select";
export type Point = { x: number; y: number; time: number; isInside: boolean };
export type GestureOptions = {
  dragMode: DragMode;
  onHover?: (point: Point | null) => void;
  onClick?: (point: Point) => void;
  /** Shows the range that a drag would zoom to; null when the drag ends. */
  onDrag?: (range: Range | null) => void;
};

const CLICK_PIXELS = 4;
const FINGER_PIXELS = 40; // fingers closer than this do not define a width

export function timeAt(x: number, width: number, window: Range): number {
  const { left, plot } = margins(width);
  return window[0] + ((x - left) / plot) * (window[1] - window[0]);
}

export function xAt(time: number, width: number, window: Range): number {
  const { left, plot } = margins(width);
  return left + ((time - window[0]) / (window[1] - window[0])) * plot;
}

function pointOf(element: HTMLElement, event: PointerEvent | MouseEvent): Point {
  const box = element.getBoundingClientRect();
  const x = event.clientX - box.left;
  const time = timeAt(x, box.width, view.peek());
  const [from, to] = view.peek();
  const { left, plot } = margins(box.width);
  return {
    x,
    y: event.clientY - box.top,
    time: Math.min(to, Math.max(from, time)),
    isInside: x >= left && x <= left + plot,
  };
}

/** The window after a pinch; the time at the center of the two fingers stays there. */
export function pinchZoom(window: Range, before: Range, after: Range, width: number): Range {
  const spread = (positions: Range): number =>
    Math.max(FINGER_PIXELS, Math.abs(positions[1] - positions[0]));
  const center = timeAt((before[0] + before[1]) / 2, width, window);
  const span = ((window[1] - window[0]) * spread(before)) / spread(after);
  const { left, plot } = margins(width);
  const start = center - (((after[0] + after[1]) / 2 - left) / plot) * span;
  return [start, start + span];
}

class Gestures {
  private fingers = new Map<number, number>();
  private pressed: Point | null = null;
  private pinch: { window: Range; positions: Range } | null = null;
  private selectedBefore: Range | null = null;
  private mode: DragMode = "zoom";
  private isDragging = false;
  private isTapped = false;

  constructor(
    private element: HTMLElement,
    private options: GestureOptions,
    private signal: AbortSignal,
  ) {}

  down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const point = pointOf(this.element, event);
    this.fingers.set(event.pointerId, point.x);
    this.cancelDrag();
    this.pressed = this.fingers.size === 1 ? point : null;
    this.pinch =
      this.fingers.size === 2 ? { window: view.peek(), positions: this.fingerPositions() } : null;
    this.selectedBefore = selection.peek();
    this.mode = event.shiftKey
      ? this.options.dragMode === "zoom"
        ? "select"
        : "zoom"
      : this.options.dragMode;
    if (point.isInside) this.element.setPointerCapture(event.pointerId);
  }

  move(event: PointerEvent): void {
    const point = pointOf(this.element, event);
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, point.x);
    if (this.pinch) {
      setView(
        pinchZoom(
          this.pinch.window,
          this.pinch.positions,
          this.fingerPositions(),
          this.element.clientWidth,
        ),
        "continuous",
      );
      return;
    }
    this.show(point);
    if (!this.pressed?.isInside || Math.abs(point.x - this.pressed.x) < CLICK_PIXELS) return;
    this.isDragging = true;
    const range = ordered(this.pressed.time, point.time);
    if (this.mode === "select") setSelection(range);
    else this.options.onDrag?.(range);
  }

  up(event: PointerEvent): void {
    this.fingers.delete(event.pointerId);
    this.pinch = null;
    const { pressed } = this;
    this.pressed = null;
    if (!pressed) return;
    if (event.type === "pointercancel") {
      this.cancelDrag();
      return;
    }
    const point = pointOf(this.element, event);
    if (!this.isDragging) {
      this.options.onClick?.(point);
      if (event.pointerType === "touch") this.showTap(point);
    } else if (this.mode === "zoom") {
      this.options.onDrag?.(null);
      setView(ordered(pressed.time, point.time));
    }
    this.isDragging = false;
  }

  leave(): void {
    if (this.isTapped) return;
    hover.value = null;
    this.options.onHover?.(null);
  }

  clearTap(): void {
    if (!this.isTapped) return;
    this.isTapped = false;
    this.leave();
  }

  private show(point: Point): void {
    hover.value = point.time;
    this.options.onHover?.(point);
  }

  /** Touch screens have no hover: the tapped point is shown until the next touch. */
  private showTap(point: Point): void {
    this.show(point);
    this.isTapped = true;
    document.addEventListener("pointerdown", () => this.clearTap(), {
      capture: true,
      once: true,
      signal: this.signal,
    });
  }

  /** Undoes a drag when a second finger touches or the page scrolls instead. */
  private cancelDrag(): void {
    if (this.isDragging && this.mode === "select") setSelection(this.selectedBefore);
    else if (this.isDragging) this.options.onDrag?.(null);
    this.isDragging = false;
  }

  private fingerPositions(): Range {
    const [first, second] = [...this.fingers.values()];
    return [first!, second!];
  }

  wheel(event: WheelEvent): void {
    const isZoom = event.ctrlKey || event.metaKey;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!isZoom && Math.abs(sideways) <= (event.shiftKey ? 0 : Math.abs(event.deltaY))) return;
    event.preventDefault();
    if (isZoom)
      zoomBy(
        Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004),
        pointOf(this.element, event).time,
        "continuous",
      );
    else panBy(sideways / this.element.clientWidth, "continuous");
  }
}

/** Attaches pointer handlers to an element; returns a function that detaches them. */
export function attachGestures(element: HTMLElement, options: GestureOptions): () => void {
  const end = new AbortController();
  const { signal } = end;
  const gestures = new Gestures(element, options, signal);
  element.addEventListener("pointerdown", (event) => gestures.down(event), { signal });
  element.addEventListener("pointermove", (event) => gestures.move(event), { signal });
  element.addEventListener("pointerup", (event) => gestures.up(event), { signal });
  element.addEventListener("pointercancel", (event) => gestures.up(event), { signal });
  element.addEventListener("pointerleave", () => gestures.leave(), { signal });
  element.addEventListener("dblclick", () => showAll(), { signal });
  element.addEventListener("wheel", (event) => gestures.wheel(event), { signal, passive: false });
  return () => {
    gestures.clearTap();
    end.abort();
  };
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
  );
}

/** Moves the hover time with the keyboard. */
function moveHover(share: number): void {
  const [from, to] = view.peek();
  const at = hover.peek() ?? (from + to) / 2;
  hover.value = Math.min(to, Math.max(from, at + share * (to - from)));
}

/** Keyboard shortcuts: ←→ pan, + − zoom, 0 show all, Esc clears the selection; , . move the hover time, s selects around it. */
export function onKey(event: KeyboardEvent): void {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  const role = event.target instanceof HTMLElement ? event.target.getAttribute("role") : null;
  if (role === "slider" || role === "option" || role === "tab") return;
  switch (event.key) {
    case "ArrowLeft":
      panBy(-0.2);
      break;
    case "ArrowRight":
      panBy(0.2);
      break;
    case "+":
    case "=":
      zoomBy(0.5, hover.peek() ?? undefined);
      break;
    case "-":
    case "_":
      zoomBy(2, hover.peek() ?? undefined);
      break;
    case "0":
      showAll();
      break;
    case ",":
      moveHover(-0.005);
      break;
    case ".":
      moveHover(0.005);
      break;
    case "s": {
      const at = hover.peek();
      if (at !== null)
        setSelection(clampRange(zoomRange(view.peek(), 0.1, at, extent.peek()), extent.peek()));
      break;
    }
    case "z":
      if (selection.peek()) setView(selection.peek()!);
      break;
    case "Escape":
      if (selection.peek() === null) return;
      setSelection(null);
      break;
    default:
      return;
  }
  event.preventDefault();
}
