// Curves over steps with min–max bands; all curves of a page share window and cursor.

import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { drawBands, drawLabels, type Mark, type Plot as PlotArea } from "../band_drawing";
import { cellText } from "../cells";
import { color } from "../colors";
import { formatElapsed } from "../format";
import type { LineChartSpec } from "../generated/chart_specs";
import type { Range } from "../range";
import { useWidth } from "../resource";
import { shownTheme } from "../state";
import { axisWindows, showOnAxis } from "../step_window";
import { toneVariable } from "../tones";
import { type CurveTable, curveTable, isPositive, valuesAt } from "./curves";
import { Legend, toggled } from "./legend";
import { plotOptions } from "./steps_plot";
import { attachTouch } from "./touch";

const MAX_READOUTS = 4; // without a cursor

type Props = { spec: LineChartSpec; height?: number; marks?: readonly Mark[] };

const NO_MARKS: readonly Mark[] = [];

/** A line per curve; dragging zooms, double-clicking resets, the legend hides curves. */
export function StepsLine({ spec, height = 170, marks = NO_MARKS }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [isLogarithmic, setLogarithmic] = useState(spec.is_logarithmic);
  const at = useMemo(() => signal<number | null>(null), []);
  const table = useMemo(() => curveTable(spec, hidden), [spec, hidden]);
  usePlot(box, width, {
    spec,
    table,
    height,
    isLogarithmic,
    marks,
    onCursor: (index) => (at.value = index),
  });
  const isZoomed = Boolean(axisWindows.value[spec.x_title]);
  return (
    <div class="steps-line">
      <div class="line-head">
        <Legend
          entries={spec.curves}
          hidden={hidden}
          onToggle={(label) => setHidden(toggled(hidden, label))}
        />
        <Readout spec={spec} table={table} at={at} />
        {isPositive(table) && (
          <button
            type="button"
            class="small"
            aria-pressed={isLogarithmic}
            onClick={() => setLogarithmic(!isLogarithmic)}
          >
            log
          </button>
        )}
        {isZoomed && (
          <button type="button" class="small" onClick={() => showOnAxis(spec.x_title, null)}>
            All {spec.x_title.toLowerCase()}s
          </button>
        )}
      </div>
      <div
        ref={box}
        class="plot-box"
        style={{ height: `${height}px` }}
        role="img"
        aria-label={lineLabel(spec)}
      />
    </div>
  );
}

type Plotted = {
  spec: LineChartSpec;
  table: CurveTable;
  height: number;
  isLogarithmic: boolean;
  marks: readonly Mark[];
  onCursor: (index: number | null) => void;
};

/** Draws into the box; new values update the plot, other curves recreate it. */
function usePlot(
  box: { current: HTMLDivElement | null },
  width: ReadonlySignal<number>,
  plotted: Plotted,
): void {
  const { spec, table, height, isLogarithmic } = plotted;
  const latest = useMemo(() => signal(plotted), []);
  const shape = JSON.stringify([spec.unit, spec.x_unit, spec.x_title, table.shown]);
  useEffect(() => {
    latest.value = plotted;
  }, [table, height, isLogarithmic, JSON.stringify(plotted.marks)]);
  useEffect(() => {
    let plot: uPlot | null = null;
    let drawn: CurveTable | null = null;
    const stop = effect(() => {
      void shownTheme.value;
      const now = latest.value.table;
      const range = axisWindows.value[spec.x_title] ?? now.extent;
      if (width.value < 60 || !box.current) return;
      if (!plot) {
        plot = newPlot(box.current, latest, width.value, range);
        drawn = now;
        return;
      }
      if (plot.width !== width.value) plot.setSize({ width: width.value, height });
      if (drawn !== now) plot.setData(now.columns as uPlot.AlignedData, false);
      drawn = now;
      plot.redraw(true, false); // the theme may have changed
      plot.setScale("x", { min: range[0], max: range[1] });
    });
    return () => {
      stop();
      plot?.destroy();
    };
  }, [shape, isLogarithmic, height]);
}

function newPlot(
  box: HTMLDivElement,
  latest: ReadonlySignal<Plotted>,
  width: number,
  range: Range,
): uPlot {
  const { spec, table, height, isLogarithmic } = latest.peek();
  const options = plotOptions({
    spec,
    table,
    width,
    height,
    isLogarithmic,
    range,
    color,
    variable: toneVariable,
  });
  options.hooks = {
    setCursor: [(plot) => latest.peek().onCursor(plot.cursor.idx ?? null)],
    setSelect: [(plot) => zoomTo(plot, spec.x_title)],
    drawClear: [(plot) => drawBands(plot.ctx, areaOf(plot), latest.peek().marks)],
    draw: [(plot) => drawLabels(plot.ctx, areaOf(plot), latest.peek().marks)],
  };
  const plot = new uPlot(options, table.columns as uPlot.AlignedData, box);
  plot.over.addEventListener("dblclick", () => showOnAxis(spec.x_title, null));
  attachTouch(plot);
  return plot;
}

function areaOf(plot: uPlot): PlotArea {
  const { left, top, width, height } = plot.bbox;
  const at = (value: number): number => plot.valToPos(value, "x", true);
  const scale = devicePixelRatio || 1;
  return { left, right: left + width, top, bottom: top + height, scale, at };
}

function zoomTo(plot: uPlot, axis: string): void {
  const { left, width } = plot.select;
  if (width < 5) return;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  showOnAxis(axis, [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
}

/** The values at the cursor, or the last value of each curve. */
function Readout({
  spec,
  table,
  at,
}: {
  spec: LineChartSpec;
  table: CurveTable;
  at: { value: number | null };
}) {
  const readings = valuesAt(spec, table, at.value);
  const [first] = readings;
  if (!first) return null;
  const position = (x: number): JSX.Element => (
    <>
      {spec.x_title.toLowerCase()}{" "}
      <b>{spec.x_unit === "seconds" ? formatElapsed(x) : cellText(x, spec.x_unit)}</b>
    </>
  );
  const isSamePosition = readings.every((reading) => reading.x === first.x);
  const isShown = at.value !== null || readings.length <= MAX_READOUTS;
  return (
    <span class="line-readout">
      {isSamePosition ? position(first.x) : "Last"}
      {isShown &&
        readings.map(({ label, x, value }) => (
          <span key={label}>
            {spec.curves.length > 1 ? ` ${label} ` : ": "}
            <b>{cellText(value, spec.unit)}</b>
            {!isSamePosition && <> at {position(x)}</>}
          </span>
        ))}
    </span>
  );
}

function lineLabel(spec: LineChartSpec): string {
  return `${spec.title} over ${spec.x_title.toLowerCase()}s: ${spec.curves.map((curve) => curve.label).join(", ")}`;
}
