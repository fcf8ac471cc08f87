// A heatmap; the value under the pointer is shown above it.

import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { FONT, sharpContext } from "../canvas";
import { cellText } from "../cells";
import { color } from "../colors";
import type { HeatmapSpec } from "../generated/chart_specs";
import { useWidth } from "../resource";
import { shownTheme, timeStyle, zone } from "../state";
import { jobTime } from "../time_axis";
import { parseColor, rampAt, shareOf } from "./heat_colors";

const BOTTOM = 20,
  HIGHEST_ROW = 18,
  LETTER = 6.4,
  LONGEST_NAME = 24;
const STOPS = ["--heat-0", "--heat-1", "--heat-2", "--heat-3", "--heat-4", "--heat-5"];

/** Rows from the top, columns from the left. */
export function Heatmap({ spec }: { spec: HeatmapSpec }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const [read, setRead] = useState("");
  const row = Math.max(3, Math.min(HIGHEST_ROW, Math.floor(420 / Math.max(1, spec.rows.length))));
  const height = row * spec.rows.length + BOTTOM;
  const left = namesWidth(spec.rows);
  useEffect(
    () =>
      effect(() => {
        void [shownTheme.value, timeStyle.value, zone.value];
        if (width.value > left + 20 && canvas.current)
          draw(sharpContext(canvas.current, width.value, height), spec, width.value, row);
      }),
    [spec, height],
  );
  const point = (event: MouseEvent): void => {
    const area = (event.currentTarget as HTMLElement).getBoundingClientRect();
    setRead(
      cellLabel(
        spec,
        Math.floor((event.clientY - area.top) / row),
        (event.clientX - area.left - left) / (area.width - left),
      ),
    );
  };
  return (
    <div class="heatmap">
      <p class="hist-read">
        {read || (
          <>
            {cellText(spec.low, spec.unit)} <span class="ramp" aria-hidden="true" />{" "}
            {cellText(spec.high, spec.unit)}
            {spec.marks_zero && (
              <>
                {" "}
                <i class="swatch zero" /> zero
              </>
            )}
          </>
        )}
      </p>
      <div
        ref={box}
        style={{ height: `${height}px` }}
        onMouseMove={point}
        onMouseLeave={() => setRead("")}
      >
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${spec.title}: ${spec.rows.length} rows over ${spec.x_title}`}
        />
      </div>
    </div>
  );
}

function draw(g: CanvasRenderingContext2D, spec: HeatmapSpec, width: number, row: number): void {
  const columns = Math.max(1, spec.values[0]?.length ?? 1);
  const left = namesWidth(spec.rows);
  const step = (width - left) / columns;
  const stops = STOPS.map((name) => parseColor(color(name)));
  const [unknown, zero] = [color("--heat-none"), color("--c4")];
  spec.values.forEach((values, index) => {
    values.forEach((value, column) => {
      const share = shareOf(value, spec.low, spec.high, spec.is_logarithmic);
      const ramp = share === null ? unknown : `rgb(${rampAt(stops, share).join(" ")})`;
      g.fillStyle = spec.marks_zero && value === 0 ? zero : ramp;
      g.fillRect(left + column * step, index * row, step + 0.5, row - (row > 6 ? 1 : 0));
    });
  });
  g.font = FONT;
  g.fillStyle = color("--muted");
  g.textBaseline = "middle";
  g.textAlign = "right";
  const every = Math.max(1, Math.ceil(13 / row));
  spec.rows.forEach((name, index) => {
    if (index % every === 0) g.fillText(shortened(name), left - 8, index * row + row / 2);
  });
  labelColumns(g, spec, width, row, columns);
}

function labelColumns(
  g: CanvasRenderingContext2D,
  spec: HeatmapSpec,
  width: number,
  row: number,
  columns: number,
): void {
  const left = namesWidth(spec.rows);
  const step = (width - left) / columns;
  const every = Math.max(1, Math.ceil(90 / step));
  g.textAlign = "left";
  for (let column = 0; column < columns; column += every) {
    g.fillText(
      columnText(spec, column),
      left + column * step,
      spec.rows.length * row + BOTTOM / 2 + 2,
    );
  }
}

function cellLabel(spec: HeatmapSpec, row: number, share: number): string {
  const values = spec.values[row];
  if (!values || share < 0 || share >= 1) return "";
  const column = Math.floor(share * values.length);
  const where = spec.columns[column] ?? `${spec.x_title.toLowerCase()} ${columnText(spec, column)}`;
  return `${spec.rows[row]}, ${where}: ${cellText(values[column], spec.unit)}`;
}

/** The start of a column; seconds are times of the job. */
function columnText(spec: HeatmapSpec, column: number): string {
  const at = spec.x[column];
  return (
    spec.columns[column] ??
    (spec.x_unit === "seconds" ? jobTime(Math.max(0, at ?? 0)) : cellText(at, spec.x_unit))
  );
}

function namesWidth(names: readonly string[]): number {
  return Math.max(36, ...names.map((name) => shortened(name).length * LETTER + 14));
}

function shortened(name: string): string {
  return name.length > LONGEST_NAME ? `…${name.slice(1 - LONGEST_NAME)}` : name;
}
