// A color per row and column; the value under the pointer is written beside the title.

import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { FONT, sharpContext } from "../canvas";
import { cellText } from "../cells";
import { color } from "../colors";
import { useWidth } from "../resource";
import type { HeatmapSpec } from "../specs";
import { shownTheme } from "../state";
import { parseColor, rampAt, shareOf } from "./heat_colors";

const LEFT = 150, BOTTOM = 20, HIGHEST_ROW = 18;
const STOPS = ["--heat-0", "--heat-1", "--heat-2", "--heat-3", "--heat-4", "--heat-5"];

/** Rows from the top, columns from the left. */
export function Heatmap({ spec }: { spec: HeatmapSpec }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const [read, setRead] = useState("");
  const row = Math.max(3, Math.min(HIGHEST_ROW, Math.floor(420 / Math.max(1, spec.rows.length))));
  const height = row * spec.rows.length + BOTTOM;
  useEffect(() => effect(() => {
    void shownTheme.value;
    if (width.value > LEFT + 20 && canvas.current) draw(sharpContext(canvas.current, width.value, height), spec, width.value, row);
  }), [spec, height]);
  const point = (event: MouseEvent): void => {
    const area = (event.currentTarget as HTMLElement).getBoundingClientRect();
    setRead(wordsAt(spec, Math.floor((event.clientY - area.top) / row), (event.clientX - area.left - LEFT) / (area.width - LEFT)));
  };
  return (
    <div class="heatmap">
      <p class="hist-read">
        {read || <>{cellText(spec.low, spec.unit)} <span class="ramp" aria-hidden="true" /> {cellText(spec.high, spec.unit)}</>}
      </p>
      <div ref={box} style={{ height: `${height}px` }} onMouseMove={point} onMouseLeave={() => setRead("")}>
        <canvas ref={canvas} role="img" aria-label={`${spec.title}: ${spec.rows.length} rows over ${spec.x_title}`} />
      </div>
    </div>
  );
}

function draw(g: CanvasRenderingContext2D, spec: HeatmapSpec, width: number, row: number): void {
  const columns = Math.max(1, spec.values[0]?.length ?? 1);
  const step = (width - LEFT) / columns;
  const stops = STOPS.map((name) => parseColor(color(name)));
  const unknown = color("--heat-none");
  spec.values.forEach((values, index) => {
    values.forEach((value, column) => {
      const share = shareOf(value, spec.low, spec.high, spec.is_logarithmic);
      g.fillStyle = share === null ? unknown : `rgb(${rampAt(stops, share).join(" ")})`;
      g.fillRect(LEFT + column * step, index * row, step + 0.5, row - (row > 6 ? 1 : 0));
    });
  });
  g.font = FONT;
  g.fillStyle = color("--muted");
  g.textBaseline = "middle";
  g.textAlign = "right";
  const every = Math.max(1, Math.ceil(13 / row));
  spec.rows.forEach((name, index) => {
    if (index % every === 0) g.fillText(shortened(name), LEFT - 8, index * row + row / 2);
  });
  labelColumns(g, spec, width, row, columns);
}

function labelColumns(g: CanvasRenderingContext2D, spec: HeatmapSpec, width: number, row: number, columns: number): void {
  const step = (width - LEFT) / columns;
  const every = Math.max(1, Math.ceil(90 / step));
  g.textAlign = "left";
  for (let column = 0; column < columns; column += every) {
    const text = spec.columns[column] ?? cellText(spec.x[column], spec.x_unit);
    g.fillText(text, LEFT + column * step, spec.rows.length * row + BOTTOM / 2 + 2);
  }
}

function wordsAt(spec: HeatmapSpec, row: number, share: number): string {
  const values = spec.values[row];
  if (!values || share < 0 || share >= 1) return "";
  const column = Math.floor(share * values.length);
  const where = spec.columns[column] ?? `${spec.x_title} ${cellText(spec.x[column], spec.x_unit)}`;
  return `${spec.rows[row]}, ${where}: ${cellText(values[column], spec.unit)}`;
}

function shortened(name: string): string {
  return name.length > 24 ? `…${name.slice(-23)}` : name;
}
