// What mouse, wheel, touch and keys do to the time window: the same on every chart over time.

import { extent, hover, panBy, selection, setSelection, setView, showAll, view, zoomBy } from "./state";
import { clampRange, ordered, zoomRange, type Range } from "./range";

/** Left and right margins of every chart over time, in pixels, so that all share one time axis. */
export const GUTTER = 76;
export const RIGHT = 124;

export type DragMeans = "zoom" | "select";
export type Point = { x: number; y: number; time: number; isInside: boolean };
export type GestureOptions = {
  dragMeans: DragMeans;
  onHover?: (point: Point | null) => void;
  onClick?: (point: Point) => void;
  /** Shows the stretch that a drag would zoom to; null when there is none. */
  onDrag?: (range: Range | null) => void;
};

const CLICK_PIXELS = 4;

export function timeAt(x: number, width: number, window: Range): number {
  return window[0] + ((x - GUTTER) / Math.max(1, width - GUTTER - RIGHT)) * (window[1] - window[0]);
}

export function xAt(time: number, width: number, window: Range): number {
  return GUTTER + ((time - window[0]) / (window[1] - window[0])) * (width - GUTTER - RIGHT);
}

function pointOf(element: HTMLElement, event: PointerEvent | MouseEvent): Point {
  const box = element.getBoundingClientRect();
  const x = event.clientX - box.left;
  const time = timeAt(x, box.width, view.peek());
  const [from, to] = view.peek();
  return { x, y: event.clientY - box.top, time: Math.min(to, Math.max(from, time)), isInside: x >= GUTTER && x <= box.width - RIGHT };
}

/** The window after two fingers moved from one pair of places to another. */
export function pinched(window: Range, before: Range, after: Range, width: number): Range {
  const [a0, a1] = ordered(timeAt(before[0], width, window), timeAt(before[1], width, window));
  const [x0, x1] = ordered(after[0], after[1]);
  if (x1 - x0 < 8) return window;
  const perPixel = (a1 - a0) / (x1 - x0);
  const start = a0 - (x0 - GUTTER) * perPixel;
  return [start, start + perPixel * Math.max(1, width - GUTTER - RIGHT)];
}

class Gestures {
  private fingers = new Map<number, number>();
  private pressed: Point | null = null;
  private means: DragMeans = "zoom";
  private isDragging = false;

  constructor(private element: HTMLElement, private options: GestureOptions) {}

  down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const point = pointOf(this.element, event);
    this.fingers.set(event.pointerId, point.x);
    this.pressed = this.fingers.size === 1 ? point : null;
    this.means = event.shiftKey ? (this.options.dragMeans === "zoom" ? "select" : "zoom") : this.options.dragMeans;
    this.isDragging = false;
    if (point.isInside) this.element.setPointerCapture(event.pointerId);
  }

  move(event: PointerEvent): void {
    const point = pointOf(this.element, event);
    hover.value = point.time;
    this.options.onHover?.(point);
    const before = [...this.fingers.values()];
    if (!this.fingers.has(event.pointerId)) return;
    this.fingers.set(event.pointerId, point.x);
    if (this.fingers.size === 2) {
      const after = [...this.fingers.values()];
      return setView(pinched(view.peek(), [before[0]!, before[1]!], [after[0]!, after[1]!], this.element.clientWidth));
    }
    if (!this.pressed?.isInside || Math.abs(point.x - this.pressed.x) < CLICK_PIXELS) return;
    this.isDragging = true;
    const range = ordered(this.pressed.time, point.time);
    if (this.means === "select") setSelection(range);
    else this.options.onDrag?.(range);
  }

  up(event: PointerEvent): void {
    this.fingers.delete(event.pointerId);
    const { pressed } = this;
    this.pressed = null;
    if (!pressed) return;
    const point = pointOf(this.element, event);
    if (!this.isDragging) {
      if (event.type === "pointerup") this.options.onClick?.(point);
    } else if (this.means === "zoom") {
      this.options.onDrag?.(null);
      if (event.type === "pointerup") setView(ordered(pressed.time, point.time));
    }
    this.isDragging = false;
  }

  leave(): void {
    hover.value = null;
    this.options.onHover?.(null);
  }

  wheel(event: WheelEvent): void {
    const isZoom = event.ctrlKey || event.metaKey;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!isZoom && Math.abs(sideways) <= (event.shiftKey ? 0 : Math.abs(event.deltaY))) return;
    event.preventDefault();
    if (isZoom) zoomBy(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), pointOf(this.element, event).time);
    else panBy(sideways / this.element.clientWidth);
  }
}

/** Lets an element answer to pointers; returns what undoes it. */
export function attachGestures(element: HTMLElement, options: GestureOptions): () => void {
  const gestures = new Gestures(element, options);
  const end = new AbortController();
  const { signal } = end;
  element.addEventListener("pointerdown", (event) => gestures.down(event), { signal });
  element.addEventListener("pointermove", (event) => gestures.move(event), { signal });
  element.addEventListener("pointerup", (event) => gestures.up(event), { signal });
  element.addEventListener("pointercancel", (event) => gestures.up(event), { signal });
  element.addEventListener("pointerleave", () => gestures.leave(), { signal });
  element.addEventListener("dblclick", () => showAll(), { signal });
  element.addEventListener("wheel", (event) => gestures.wheel(event), { signal, passive: false });
  return () => end.abort();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
}

/** Moves the hover time, for people without a pointer. */
function moveHover(share: number): void {
  const [from, to] = view.peek();
  const at = hover.peek() ?? (from + to) / 2;
  hover.value = Math.min(to, Math.max(from, at + share * (to - from)));
}

/** Keys on any chart and on the page: ←→ move, + − zoom, 0 all, Esc clears; , . move the hover time, s selects around it. */
export function onKey(event: KeyboardEvent): void {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  const role = event.target instanceof HTMLElement ? event.target.getAttribute("role") : null;
  if (role === "slider" || role === "option" || role === "tab") return;
  switch (event.key) {
    case "ArrowLeft": panBy(-0.2); break;
    case "ArrowRight": panBy(0.2); break;
    case "+": case "=": zoomBy(0.5, hover.peek() ?? undefined); break;
    case "-": case "_": zoomBy(2, hover.peek() ?? undefined); break;
    case "0": showAll(); break;
    case ",": moveHover(-0.005); break;
    case ".": moveHover(0.005); break;
    case "s": {
      const at = hover.peek();
      if (at !== null) setSelection(clampRange(zoomRange(view.peek(), 0.1, at, extent.peek()), extent.peek()));
      break;
    }
    case "z": if (selection.peek()) setView(selection.peek()!); break;
    case "Escape":
      if (selection.peek() === null) return;
      setSelection(null);
      break;
    default: return;
  }
  event.preventDefault();
}
