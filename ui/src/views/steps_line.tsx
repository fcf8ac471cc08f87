// Curves over steps, with a band where a value stands for several; all of a page share window and cursor.

import { effect, signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { cellText } from "../cells";
import { color } from "../colors";
import { formatElapsed } from "../format";
import { useWidth } from "../resource";
import type { LineSpec } from "../specs";
import { shownTheme } from "../state";
import { toneVariable } from "../tones";
import { curveTable, type CurveTable, valuesAt, valueRange } from "./curves";
import { Legend, toggled } from "./legend";
import { plotOptions } from "./steps_plot";

/** The part of the axis that is shown, by what the axis counts; null is all of it. */
const windows = signal<Record<string, [number, number] | null>>({});

export const showSteps = (axis: string, range: [number, number] | null): void => {
  windows.value = { ...windows.peek(), [axis]: range };
};

const MOST_READ = 4; // without a pointer over them

type Props = { spec: LineSpec; height?: number };

/** A line per curve; dragging zooms, a double click shows all, the legend hides and reads. */
export function StepsLine({ spec, height = 170 }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [isLogarithmic, setLogarithmic] = useState(spec.is_logarithmic);
  const at = useMemo(() => signal<number | null>(null), []);
  const table = useMemo(() => curveTable(spec, hidden), [spec, hidden]);
  usePlot(box, width, { spec, table, height, isLogarithmic, onCursor: (index) => (at.value = index) });
  const isZoomed = Boolean(windows.value[spec.x_title]);
  return (
    <div class="steps-line">
      <div class="line-head">
        <Legend entries={spec.curves} hidden={hidden} onToggle={(label) => setHidden(toggled(hidden, label))} />
        <Readout spec={spec} table={table} at={at} />
        {valueRange(table, false)[0] > 0 && (
          <button type="button" class="small" aria-pressed={isLogarithmic} onClick={() => setLogarithmic(!isLogarithmic)}>log</button>
        )}
        {isZoomed && <button type="button" class="small" onClick={() => showSteps(spec.x_title, null)}>all {spec.x_title.toLowerCase()}s</button>}
      </div>
      <div ref={box} class="plot-box" style={{ height: `${height}px` }} role="img" aria-label={lineWords(spec)} />
    </div>
  );
}

type Plotted = { spec: LineSpec; table: CurveTable; height: number; isLogarithmic: boolean; onCursor: (index: number | null) => void };

function usePlot(box: { current: HTMLDivElement | null }, width: { value: number }, plotted: Plotted): void {
  const { spec, table, height, isLogarithmic } = plotted;
  const latest = useRef(plotted);
  latest.current = plotted;
  useEffect(() => {
    let plot: uPlot | null = null;
    let drawn = 0;
    const stop = effect(() => {
      void shownTheme.value;
      const range = windows.value[spec.x_title] ?? table.extent;
      if (width.value < 60 || !box.current) return;
      if (!plot) {
        const options = plotOptions({ spec, table, width: width.value, height, isLogarithmic, range, color, variable: toneVariable });
        options.hooks = {
          setCursor: [(one) => latest.current.onCursor(one.cursor.idx ?? null)],
          setSelect: [(one) => zoomTo(one, spec.x_title)],
        };
        plot = new uPlot(options, table.columns as uPlot.AlignedData, box.current);
        plot.over.addEventListener("dblclick", () => showSteps(spec.x_title, null));
        drawn = width.value;
        return;
      }
      if (drawn !== width.value) plot.setSize({ width: width.value, height });
      drawn = width.value;
      plot.setScale("x", { min: range[0], max: range[1] });
      plot.redraw(true, true);
    });
    return () => {
      stop();
      plot?.destroy();
    };
  }, [table, isLogarithmic, height]);
}

function zoomTo(plot: uPlot, axis: string): void {
  const { left, width } = plot.select;
  if (width < 5) return;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  showSteps(axis, [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
}

/** The values under the cursor; without one, the last. */
function Readout({ spec, table, at }: { spec: LineSpec; table: CurveTable; at: { value: number | null } }) {
  const found = valuesAt(spec, table, at.value);
  if (found === null) return null;
  return (
    <span class="line-readout">
      {spec.x_title.toLowerCase()} <b>{spec.x_unit === "seconds" ? formatElapsed(found.x) : cellText(found.x, spec.x_unit)}</b>
      {(at.value !== null || found.values.length <= MOST_READ) && found.values.map(({ label, value }) => (
        <span key={label}>{spec.curves.length > 1 ? ` ${label} ` : " "}<b>{cellText(value, spec.unit)}</b></span>
      ))}
    </span>
  );
}

function lineWords(spec: LineSpec): string {
  return `${spec.title} over ${spec.x_title.toLowerCase()}s: ${spec.curves.map((one) => one.label).join(", ")}`;
}
