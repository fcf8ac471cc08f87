// Heatmap of tensors and recorded steps; zeros and non-finite values have special colors.

import { effect, type Signal, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { FONT, sharpContext } from "../canvas";
import { color, SEVERITY } from "../colors";
import { formatValue, pluralize } from "../format";
import { exposeChart } from "../inspect";
import { useWidth } from "../resource";
import { shownTheme } from "../state";
import {
  type HeatScale,
  NOT_FINITE,
  rowHeight,
  scaleFor,
  shareOn,
  shortTensor,
  ZERO,
} from "../tensors/heat_scale";
import type { Layers } from "../tensors/source";
import { parseColor, rampAt } from "./heat_colors";

const HIGHEST = 520,
  BOTTOM = 22,
  LETTER = 6.2;
const STOPS = ["--heat-0", "--heat-1", "--heat-2", "--heat-3", "--heat-4", "--heat-5"];

type Cell = { row: number; column: number };
type Props = {
  layers: Layers;
  chosen: readonly string[];
  onChoose: (name: string, isAdded: boolean) => void;
};

const leftFor = (width: number): number => (width < 700 ? 150 : 230);

export function LayersHeat({ layers, chosen, onChoose }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null),
    canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const top = useMemo(() => signal(0), []);
  const at = useMemo(() => signal<Cell | null>(null), [layers]);
  const scale = useMemo(() => scaleFor(layers.reduction, layers.values), [layers]);
  const row = rowHeight(layers.names.length, HIGHEST);
  const height = Math.min(HIGHEST, layers.names.length * row);
  useEffect(
    () =>
      effect(() => {
        void shownTheme.value;
        if (width.value > 300)
          draw(sharpContext(canvas.current!, width.value, height + BOTTOM), {
            layers,
            scale,
            chosen,
            row,
            width: width.value,
            height,
            top: top.value,
            at: at.value,
          });
      }),
    [layers, scale, chosen, row, height],
  );
  useEffect(
    () =>
      exposeChart("layers", () => ({
        names: layers.names,
        steps: layers.steps,
        values: [...layers.values],
        reduction: layers.reduction,
      })),
    [layers],
  );
  const cellAt = (event: MouseEvent): Cell | null => {
    const area = canvas.current!.getBoundingClientRect();
    const left = leftFor(area.width),
      x = event.clientX - area.left,
      y = event.clientY - area.top;
    const index = Math.floor((y + top.peek()) / row);
    if (y > height || index >= layers.names.length) return null;
    return {
      row: index,
      column:
        x < left
          ? -1
          : Math.min(
              layers.steps.length - 1,
              Math.floor(((x - left) / (area.width - left)) * layers.steps.length),
            ),
    };
  };
  const onKey = (event: KeyboardEvent): void => {
    const cell = at.peek() ?? { row: -1, column: layers.steps.length - 1 };
    const moves: Record<string, Cell> = {
      ArrowDown: { ...cell, row: cell.row + 1 },
      ArrowUp: { ...cell, row: cell.row - 1 },
      ArrowLeft: { ...cell, column: cell.column - 1 },
      ArrowRight: { ...cell, column: cell.column + 1 },
    };
    const next = moves[event.key];
    if (next) {
      at.value = {
        row: Math.max(0, Math.min(layers.names.length - 1, next.row)),
        column: Math.max(0, Math.min(layers.steps.length - 1, next.column)),
      };
      box.current!.scrollTop = Math.max(
        0,
        Math.min(
          at.peek()!.row * row,
          Math.max(box.current!.scrollTop, (at.peek()!.row + 1) * row - height),
        ),
      );
    } else if ((event.key === "Enter" || event.key === " ") && at.peek())
      onChoose(layers.names[at.peek()!.row]!, event.key === " ");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <CellReadout layers={layers} scale={scale} at={at} />
      <div
        class="layers-box"
        ref={box}
        data-chart="layers"
        tabIndex={0}
        role="group"
        style={{ height: `${height + BOTTOM}px` }}
        onKeyDown={onKey}
        onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
        aria-label={`${pluralize(layers.names.length, "tensor")} over ${pluralize(layers.steps.length, "recorded step")}. Arrow keys move between cells, Enter opens the tensor. A table view is available.`}
      >
        <div class="layers-all" style={{ height: `${layers.names.length * row + BOTTOM}px` }}>
          <canvas
            ref={canvas}
            aria-hidden="true"
            onMouseMove={(event) => (at.value = cellAt(event))}
            onMouseLeave={() => (at.value = null)}
            onClick={(event) => {
              const cell = cellAt(event);
              if (cell)
                onChoose(layers.names[cell.row]!, event.ctrlKey || event.metaKey || event.shiftKey);
            }}
          />
        </div>
      </div>
    </>
  );
}

/** The value under the pointer, or the color legend. */
function CellReadout({
  layers,
  scale,
  at,
}: {
  layers: Layers;
  scale: HeatScale;
  at: Signal<Cell | null>;
}): JSX.Element {
  const cell = at.value;
  if (!cell)
    return (
      <p class="layers-read">
        <span>{formatValue(scale.low, "")}</span>
        <span class="heat-ramp" aria-hidden="true" />
        <span>
          {formatValue(scale.high, "")}
          {scale.isLogarithmic ? " (log scale)" : ""}
        </span>
        {scale.isLogarithmic && (
          <span>
            <i class="swatch zero" />
            exactly zero
          </span>
        )}
        <span>
          <i class="swatch not-finite" />
          not finite
        </span>
        <span>
          <i class="swatch none" />
          not recorded
        </span>
      </p>
    );
  const name = layers.names[cell.row]!;
  const value =
    cell.column < 0 ? undefined : layers.values[cell.row * layers.steps.length + cell.column];
  const marks = layers.marks[name] ?? [];
  return (
    <p class="layers-read" role="status">
      <b>{name}</b>
      {cell.column >= 0 && (
        <span>
          step {layers.steps[cell.column]}:{" "}
          <b>
            {value !== undefined && Number.isNaN(value)
              ? "not recorded"
              : formatValue(value, "") === "–"
                ? "not finite"
                : formatValue(value, "")}
          </b>
        </span>
      )}
      {marks.map((mark) => (
        <span key={mark.rule} class={`mark ${mark.severity}`} title={mark.message}>
          {mark.rule}
        </span>
      ))}
    </p>
  );
}

type Drawn = {
  layers: Layers;
  scale: HeatScale;
  chosen: readonly string[];
  row: number;
  width: number;
  height: number;
  top: number;
  at: Cell | null;
};

function draw(g: CanvasRenderingContext2D, drawn: Drawn): void {
  const { layers, scale, row, width, height, top, at } = drawn;
  const left = leftFor(width),
    columns = layers.steps.length,
    step = (width - left) / Math.max(1, columns);
  const colors = shareColors();
  const first = Math.floor(top / row),
    end = Math.min(layers.names.length, Math.ceil((top + height) / row));
  const gap = row > 7 ? 1 : 0;
  g.save();
  g.beginPath();
  g.rect(0, 0, width, height);
  g.clip();
  for (let index = first; index < end; index++) {
    const y = index * row - top;
    for (let column = 0; column < columns; column++) {
      g.fillStyle = colors(shareOn(scale, layers.values[index * columns + column]!));
      g.fillRect(left + column * step, y, step + 0.6, row - gap);
    }
  }
  drawNames(g, drawn, { left, first, end });
  if (at) {
    g.strokeStyle = color("--ink");
    g.lineWidth = 1;
    g.strokeRect(
      left + 0.5,
      at.row * row - top + 0.5,
      width - left - 1,
      Math.max(2, row - gap - 1),
    );
  }
  g.restore();
  drawSteps(g, layers, { left, step, y: height + 13 });
}

function drawNames(
  g: CanvasRenderingContext2D,
  { layers, chosen, row, top, at }: Drawn,
  { left, first, end }: { left: number; first: number; end: number },
): void {
  const every = Math.max(1, Math.ceil(12 / row)),
    letters = Math.floor((left - 24) / LETTER);
  const marked = [...chosen.map((name) => layers.names.indexOf(name)), at?.row ?? -1].filter(
    (index) => index >= 0,
  );
  const isNear = (index: number): boolean =>
    marked.some((markedIndex) => markedIndex !== index && Math.abs(markedIndex - index) < every);
  g.textBaseline = "middle";
  g.textAlign = "right";
  for (let index = first; index < end; index++) {
    const name = layers.names[index]!,
      y = index * row - top + row / 2;
    const worst = layers.marks[name]?.[0]?.severity;
    const isMarked = at?.row === index || chosen.includes(name);
    const isNamed = isMarked || (index % every === 0 && !isNear(index));
    if (worst) {
      g.fillStyle = color(SEVERITY[worst] ?? "--warn");
      g.fillRect(left - 8, y - Math.min(4, row / 2), 4, Math.min(8, row - 1));
    }
    if (!isNamed) continue;
    g.font = chosen.includes(name) ? `600 ${FONT}` : FONT;
    g.fillStyle = chosen.includes(name)
      ? color("--link")
      : at?.row === index
        ? color("--ink")
        : color("--ink2");
    g.fillText(shortTensor(name, letters), left - 12, y);
  }
}

function drawSteps(
  g: CanvasRenderingContext2D,
  layers: Layers,
  { left, step, y }: { left: number; step: number; y: number },
): void {
  const every = Math.max(1, Math.ceil(64 / step));
  g.font = FONT;
  g.fillStyle = color("--muted");
  g.textAlign = "left";
  layers.steps.forEach((number, column) => {
    if (column % every === 0)
      g.fillText(`${column === 0 ? "step " : ""}${number}`, left + column * step, y);
  });
}

/** Precomputes the colors of a scale for one drawing. */
function shareColors(): (share: number) => string {
  const stops = STOPS.map((name) => parseColor(color(name)));
  const ramp = Array.from({ length: 101 }, (_, i) => `rgb(${rampAt(stops, i / 100).join(" ")})`);
  const [zero, wrong, none] = [color("--c4"), color("--c8"), color("--heat-none")];
  return (share) =>
    share >= 0
      ? ramp[Math.round(Math.min(1, share) * 100)]!
      : share === ZERO
        ? zero
        : share === NOT_FINITE
          ? wrong
          : none;
}
