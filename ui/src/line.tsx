// Lines over time with min–max bands, drawn by uPlot.

import { effect, type ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { drawBands } from "./band_drawing";
import { Crosshair, FONT, placeBrush } from "./canvas";
import { color } from "./colors";
import { timeBands } from "./finding_marks";
import { formatValue } from "./format";
import { attachGestures, type DragMode, margins } from "./gestures";
import { exposeChart } from "./inspect";
import { useVisible, useWidth } from "./resource";
import { hover, selection, shownTheme, timeStyle, view, zone } from "./state";
import { niceCeiling, niceTicks } from "./ticks";
import { shownTicks } from "./time_axis";

/** A line, with a band if `low` and `high` are set; NaN is a gap. */
export type Line = {
  key: string;
  label: string;
  color: string;
  mean: Float64Array;
  low?: Float64Array | undefined;
  high?: Float64Array | undefined;
  isFilled?: boolean; // down to 0
};
/** `x` in seconds since the start, ascending. */
export type LineData = { x: Float64Array; lines: Line[]; unit: string };

type LineProps = {
  name: string;
  title: string;
  data: ReadonlySignal<LineData | null>;
  height?: number;
  /** The fixed upper end of the value axis: 100 for percentages. */
  top?: number | undefined;
  dragMode?: DragMode;
  hasBands?: boolean;
};

type Plot = uPlot & { shown?: LineData };

const EMPTY: LineData = { x: new Float64Array(0), lines: [], unit: "" };

/** Index of the last x at or before a time; −1 before the first. */
export function indexAt(x: ArrayLike<number>, time: number): number {
  let low = 0,
    high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The index nearest to a time; −1 without data. */
export function nearestIndex(x: ArrayLike<number>, time: number): number {
  const before = indexAt(x, time);
  const candidates = [before, before + 1].filter((i) => i >= 0 && i < x.length);
  let best = -1;
  for (const i of candidates)
    if (best < 0 || Math.abs(x[i]! - time) < Math.abs(x[best]! - time)) best = i;
  return best;
}

function shapeOf(data: LineData, hasBands: boolean): string {
  return JSON.stringify([
    hasBands,
    data.unit,
    ...data.lines.map((line) => [line.key, line.color, line.low !== undefined]),
  ]);
}

/** Replaces NaN by null, because uPlot draws gaps only at null. */
function withGaps(values: Float64Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}

function columnsOf(data: LineData): uPlot.AlignedData {
  const columns: (Float64Array | (number | null)[])[] = [data.x];
  for (const line of data.lines)
    if (line.low && line.high) columns.push(withGaps(line.high), withGaps(line.low));
  for (const line of [...data.lines].reverse()) columns.push(withGaps(line.mean));
  return columns as uPlot.AlignedData;
}

function seriesOf(data: LineData, hasBands: boolean): Pick<uPlot.Options, "series" | "bands"> {
  const invisible: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false } };
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const line of data.lines) {
    if (!line.low || !line.high) continue;
    if (hasBands)
      bands.push({
        series: [series.length, series.length + 1],
        fill: () => `color-mix(in srgb, ${color(line.color)} 16%, transparent)`,
      });
    series.push(invisible, invisible);
  }
  for (const line of [...data.lines].reverse())
    series.push({
      stroke: () => color(line.color),
      width: line === data.lines[0] ? 2 : 1.4,
      ...(line.isFilled && {
        fill: () => `color-mix(in srgb, ${color(line.color)} 45%, transparent)`,
      }),
      points: { show: false },
    });
  return { series, bands };
}

function highest(data: LineData): number {
  let top = 0;
  for (const line of data.lines)
    for (const values of [line.mean, line.high]) {
      if (values) for (let i = 0; i < values.length; i++) if (values[i]! > top) top = values[i]!;
    }
  return top;
}

function optionsOf(data: LineData, props: LineProps, width: number): uPlot.Options {
  const axis = {
    stroke: () => color("--muted"),
    grid: { stroke: () => color("--grid"), width: 1 },
    ticks: { show: false },
    font: FONT,
  };
  const height = props.height ?? 110;
  return {
    width,
    height,
    padding: [8, (u) => margins(u.width).right, 4, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, min: view.peek()[0], max: view.peek()[1] },
      y: { range: (u) => [0, props.top ?? niceCeiling(highest((u as Plot).shown ?? data))] },
    },
    axes: [
      {
        ...axis,
        size: 0,
        splits: (u) =>
          shownTicks([u.scales.x!.min!, u.scales.x!.max!], margins(u.width).plot).map(
            (tick) => tick.at,
          ),
        values: (_u, splits) => splits.map(() => ""),
      },
      {
        ...axis,
        size: (u) => margins(u.width).left,
        splits: (_u, _i, low, high) => niceTicks(low, high, height < 90 ? 2 : 4),
        values: (_u, splits) => splits.map((value) => formatValue(value, data.unit)),
      },
    ],
    ...seriesOf(data, props.hasBands ?? true),
    hooks: { drawClear: [shadeSelection, drawFindings] },
  };
}

function shadeSelection(plot: uPlot): void {
  const range = selection.peek();
  if (!range) return;
  const { left, top, width, height } = plot.bbox;
  const from = Math.max(left, plot.valToPos(range[0], "x", true));
  const to = Math.min(left + width, plot.valToPos(range[1], "x", true));
  if (to <= from) return;
  plot.ctx.fillStyle = color("--sel");
  plot.ctx.fillRect(from, top, to - from, height);
}

function drawFindings(plot: uPlot): void {
  const { left, top, width, height } = plot.bbox;
  const at = (time: number): number => plot.valToPos(time, "x", true);
  const scale = devicePixelRatio || 1;
  const area = { left, right: left + width, top, bottom: top + height, scale, at };
  drawBands(plot.ctx, area, timeBands.peek());
}

export function LineChart(props: LineProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const brush = useRef<HTMLDivElement>(null);
  const isVisible = useVisible(box);
  const width = useWidth(box);
  useEffect(() => {
    let plot: Plot | null = null;
    let shape = "",
      shown: LineData | null = null;
    const stop = effect(() => {
      const data = props.data.value ?? EMPTY;
      void [shownTheme.value, selection.value, timeBands.value];
      const [from, to] = view.value;
      if (!isVisible.value || margins(width.value).plot < 20) return;
      // uPlot recomputes grid lines only for a new scale or a new plot.
      const nextShape = [timeStyle.value, zone.value, shapeOf(data, props.hasBands ?? true)].join();
      if (!plot || shape !== nextShape) {
        plot?.destroy();
        plot = new uPlot(optionsOf(data, props, width.value), columnsOf(data), stage.current!);
        shape = nextShape;
      } else {
        if (plot.width !== width.value)
          plot.setSize({ width: width.value, height: props.height ?? 110 });
        plot.batch(() => {
          plot!.shown = data;
          if (shown !== data) plot!.setData(columnsOf(data), false);
          plot!.setScale("x", { min: from, max: to });
        });
      }
      plot.shown = data;
      shown = data;
    });
    return () => {
      stop();
      plot?.destroy();
    };
  }, [props.top, props.hasBands, props.data]);
  useEffect(() => {
    const brushBox = brush.current!;
    return attachGestures(box.current!, {
      dragMode: props.dragMode ?? "zoom",
      onDrag: (range) => placeBrush(brushBox, range, width.peek()),
    });
  }, [props.dragMode]);
  useEffect(() => exposeChart(props.name, () => props.data.peek()), [props.name, props.data]);
  return (
    <div
      class="panel"
      ref={box}
      data-chart={props.name}
      style={{ minHeight: `${props.height ?? 110}px` }}
    >
      <div ref={stage} role="img" aria-label={`${props.title} over time`} tabIndex={0} />
      <div class="brush" ref={brush} hidden />
      <Crosshair />
      <Readout data={props.data} />
    </div>
  );
}

/** The last finite value up to an index; metrics with a longer interval have gaps. */
function lastFinite(values: ArrayLike<number>, index: number): number {
  let position = index;
  while (position > 0 && !Number.isFinite(values[position])) position -= 1;
  return values[position] ?? NaN;
}

/** Values at the hover time, or the last ones in view, in the right margin. */
function Readout({ data }: { data: ReadonlySignal<LineData | null> }): JSX.Element {
  const rows = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const list = rows.current!;
    return effect(() => {
      const current = data.value ?? EMPTY;
      const at = hover.value;
      const index = nearestIndex(current.x, at ?? view.value[1]);
      while (list.children.length > current.lines.length) list.lastElementChild!.remove();
      current.lines.forEach((line, i) => {
        let row = list.children[i] as HTMLLIElement | undefined;
        if (!row) {
          row = document.createElement("li");
          list.append(row);
        }
        row.style.setProperty("--swatch", `var(${line.color})`);
        row.title = line.label;
        row.textContent = formatValue(
          at === null ? lastFinite(line.mean, index) : line.mean[index],
          current.unit,
        );
        if (current.lines.length > 1) row.dataset.label = line.label;
        else delete row.dataset.label;
      });
    });
  }, [data]);
  return <ul class="readout" ref={rows} />;
}
