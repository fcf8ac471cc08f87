// A canvas with a time axis: renders at device resolution, follows the time window, shows a crosshair and a tooltip.

import { effect, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Plot } from "./band_drawing";
import { color } from "./colors";
import { attachGestures, type DragMode, margins, type Point, xAt } from "./gestures";
import { exposeChart } from "./inspect";
import type { Range } from "./range";
import { useVisible, useWidth } from "./resource";
import { hover, selection, shownTheme, view } from "./state";

/** The drawing area; the plot is between `left` and `left + plot`. */
export type Area = { width: number; height: number; left: number; plot: number; window: Range };
export type Draw = (g: CanvasRenderingContext2D, area: Area) => void;

export const FONT = "11px Inter, system-ui, -apple-system, 'Segoe UI', sans-serif";

type CanvasProps = {
  name: string;
  label: string;
  height: number;
  draw: Draw;
  /** Reads the signals that trigger a redraw, in addition to window, selection and theme. */
  depends?: () => unknown;
  tip?: (point: Point, area: Area) => string | null;
  dragMode?: DragMode;
  onClick?: (point: Point, area: Area) => void;
  data?: () => unknown;
  children?: ComponentChildren;
};

/** Sizes a canvas in device pixels and returns a context scaled to CSS pixels. */
export function sharpContext(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d")!;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}

export function TimeCanvas(props: CanvasProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const brush = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const isVisible = useVisible(box);
  const width = useWidth(box);
  const area = (): Area => ({
    width: width.peek(),
    height: latest.current.height,
    left: margins(width.peek()).left,
    plot: margins(width.peek()).plot,
    window: view.peek(),
  });
  useEffect(() => {
    const element = canvas.current;
    if (!element) return; // unmounted before the first draw
    return repaintOn(isVisible, () => {
      const { draw, depends, height } = latest.current;
      void [shownTheme.value, view.value, selection.value, depends?.()];
      if (margins(width.value).plot < 20) return;
      draw(sharpContext(element, width.value, height), area());
    });
  }, [props.height, props.draw]);
  useEffect(() => {
    const [tipBox, brushBox] = [tip.current!, brush.current!]; // the pointer can leave after they are unmounted
    return attachGestures(box.current!, {
      dragMode: props.dragMode ?? "zoom",
      onHover: (point) =>
        placeTip(
          tipBox,
          point,
          point?.isInside ? (latest.current.tip?.(point, area()) ?? null) : null,
          width.peek(),
        ),
      onClick: (point) => latest.current.onClick?.(point, area()),
      onDrag: (range) => placeBrush(brushBox, range, width.peek()),
    });
  }, [props.dragMode]);
  useEffect(
    () => (props.data ? exposeChart(props.name, () => latest.current.data?.()) : undefined),
    [props.name],
  );
  return (
    <div class="panel" ref={box} data-chart={props.name} style={{ height: `${props.height}px` }}>
      <canvas ref={canvas} role="img" aria-label={props.label} tabIndex={0} />
      <div class="brush" ref={brush} hidden />
      <Crosshair />
      <div class="tip" ref={tip} hidden />
      {props.children}
    </div>
  );
}

/** Repaints when a signal that `paint` reads changes, while the element is visible. */
export function repaintOn(isVisible: ReadonlySignal<boolean>, paint: () => void): () => void {
  return effect(() => {
    if (isVisible.value) paint();
  });
}

function placeTip(tip: HTMLElement, point: Point | null, text: string | null, width: number): void {
  tip.hidden = !point || !text;
  if (!point || !text) return;
  tip.textContent = text;
  const x = Math.min(point.x + 14, width - tip.offsetWidth - 4);
  tip.style.transform = `translate(${Math.max(0, x)}px, ${point.y + 14}px)`;
}

export function placeBrush(element: HTMLElement, range: Range | null, width: number): void {
  element.hidden = !range;
  if (!range) return;
  const from = xAt(range[0], width, view.peek());
  element.style.transform = `translateX(${from}px)`;
  element.style.width = `${Math.max(1, xAt(range[1], width, view.peek()) - from)}px`;
}

/** The line at the hover time; it moves without a redraw. */
export function Crosshair(): JSX.Element {
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = line.current!,
      chart = element.parentElement!;
    return effect(() => {
      const at = hover.value,
        window = view.value;
      const isShown = at !== null && at >= window[0] && at <= window[1];
      element.hidden = !isShown;
      if (isShown) element.style.transform = `translateX(${xAt(at, chart.clientWidth, window)}px)`;
    });
  }, []);
  return <div class="cross" ref={line} hidden />;
}

/** The plot of an area for marks of findings. */
export function plotOf(area: Area): Plot {
  return {
    left: area.left,
    right: area.left + area.plot,
    top: 0,
    bottom: area.height,
    scale: 1,
    at: (time) => xAt(time, area.width, area.window),
  };
}

/** Shades the selection in the background. */
export function drawSelection(g: CanvasRenderingContext2D, area: Area): void {
  const range = selection.peek();
  if (!range) return;
  const from = Math.max(area.left, xAt(range[0], area.width, area.window));
  const to = Math.min(area.left + area.plot, xAt(range[1], area.width, area.window));
  if (to <= from) return;
  g.fillStyle = color("--sel");
  g.fillRect(from, 0, to - from, area.height);
}

/** Outlines the selection where shading would change the colors of the chart. */
export function drawSelectionFrame(g: CanvasRenderingContext2D, area: Area): void {
  const range = selection.peek();
  if (!range) return;
  const from = Math.max(area.left, xAt(range[0], area.width, area.window));
  const to = Math.min(area.left + area.plot, xAt(range[1], area.width, area.window));
  if (to <= from) return;
  g.strokeStyle = color("--ink");
  g.lineWidth = 1;
  g.strokeRect(from + 0.5, 0.5, Math.max(1, to - from - 1), area.height - 1);
}
