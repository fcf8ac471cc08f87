// The distribution of a tensor over steps, as ridges or as a heatmap.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { FONT, sharpContext } from "../canvas";
import { color } from "../colors";
import { formatPercent, formatValue, pluralize } from "../format";
import { exposeChart } from "../inspect";
import { useWidth } from "../resource";
import { shownTheme } from "../state";
import {
  type BinAxis,
  binAxis,
  chosenRows,
  edgeLabels,
  highestShare,
  sharesAt,
} from "../tensors/bins";
import type { Histograms } from "../tensors/source";
import { binning } from "../tensors/state";
import { niceTicks } from "../ticks";
import { tint } from "../timeline/drawing";
import { parseColor, rampAt } from "./heat_colors";

const HEIGHT = 300,
  LEFT = 64,
  BOTTOM = 20,
  TOP = 8;
const STOPS = ["--heat-0", "--heat-1", "--heat-2", "--heat-3", "--heat-4", "--heat-5"];
const RIDGES = 32,
  OVERLAP = 2.6;

type Props = { data: Histograms; shape: "ridge" | "heat" };
type Plan = { data: Histograms; axis: BinAxis; width: number; rows: number[]; highest: number };

export function Distribution({ data, shape }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null),
    canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const read = useMemo(() => signal(""), [data, shape]);
  const axis = useMemo(
    () => binAxis(data.edges, binning.value === "log" && data.zeros.some((count) => count > 0)),
    [data],
  );
  const highest = useMemo(() => highestShare(data), [data]);
  const rows = useMemo(() => chosenRows(data.steps.length, RIDGES), [data]);
  const plan = (): Plan => ({ data, axis, width: width.peek(), rows, highest });
  useEffect(
    () =>
      effect(() => {
        void shownTheme.value;
        if (width.value < 160) return;
        const g = sharpContext(canvas.current!, width.value, HEIGHT);
        if (shape === "ridge") drawRidges(g, plan());
        else drawHeat(g, plan());
      }),
    [data, shape],
  );
  useEffect(
    () =>
      exposeChart("distribution", () => ({
        shape,
        name: data.name,
        steps: data.steps,
        edges: data.edges,
        zeros: data.zeros,
        counts: [...(data.counts as ArrayLike<number> & Iterable<number>)],
      })),
    [data, shape],
  );
  const onMove = (event: MouseEvent): void => {
    const area = canvas.current!.getBoundingClientRect();
    const top = shape === "ridge" ? ridgeTop(rows.length) : TOP;
    const across = (event.clientX - area.left - LEFT) / (area.width - LEFT),
      down = (event.clientY - area.top - top) / (HEIGHT - top - BOTTOM);
    read.value =
      across < 0 || across > 1 || down < 0 || down > 1
        ? ""
        : shape === "ridge"
          ? readoutText(
              plan(),
              rows[Math.min(rows.length - 1, Math.floor(down * rows.length))]!,
              across,
            )
          : readoutText(
              plan(),
              Math.min(data.steps.length - 1, Math.floor(across * data.steps.length)),
              1 - down,
            );
  };
  return (
    <>
      <p class="layers-read" role="status">
        {read.value ||
          `Share of values per bin${binning.value === "log" ? " (logarithmic bins)" : ", excluding zeros"} · ${pluralize(data.steps.length, "recorded step")}${data.merged > 1 ? `, ${data.merged} merged into each` : ""}`}
      </p>
      <div
        ref={box}
        data-chart="distribution"
        style={{ height: `${HEIGHT}px` }}
        onMouseMove={onMove}
        onMouseLeave={() => (read.value = "")}
      >
        <canvas
          ref={canvas}
          role="img"
          aria-label={`Distribution of the values of ${data.name} over ${pluralize(data.steps.length, "step")}. The table view lists its quantiles.`}
        />
      </div>
    </>
  );
}

function readoutText({ data, axis }: Plan, row: number, share: number): string {
  const step = `step ${data.steps[row]}`;
  const shares = sharesAt(data, row);
  if (axis.zero && share >= axis.zero[0] && share < axis.zero[1])
    return `${step}: ${formatPercent(100 * shares.zeros)} exactly zero`;
  const bin = axis.from.findIndex((from, i) => share >= from && share < axis.to[i]!);
  if (bin < 0) return step;
  const [from, to] = [data.edges[bin], data.edges[bin + 1]].map((edge) => formatValue(edge, ""));
  return `${step}: ${formatPercent(100 * shares.shares[bin]!)} from ${from} to ${to}`;
}

/** Shares of all bins from left to right; zeros are between negative and positive bins. */
function slots(
  plan: Plan,
  row: number,
): { from: number; to: number; share: number; isZero: boolean }[] {
  const { shares, zeros } = sharesAt(plan.data, row);
  const slotShares = shares.map((share, bin) => ({
    from: plan.axis.from[bin]!,
    to: plan.axis.to[bin]!,
    share,
    isZero: false,
  }));
  if (plan.axis.zero)
    slotShares.push({ from: plan.axis.zero[0], to: plan.axis.zero[1], share: zeros, isZero: true });
  return slotShares.sort((a, b) => a.from - b.from);
}

/** The space above the first ridge; more ridges overlap more. */
const ridgeTop = (count: number): number =>
  Math.max(20, Math.min(90, ((HEIGHT - BOTTOM) / Math.max(1, count)) * OVERLAP));

function drawRidges(g: CanvasRenderingContext2D, plan: Plan): void {
  const { rows, width, highest, data } = plan;
  const plot = width - LEFT,
    top = ridgeTop(rows.length),
    space = (HEIGHT - top - BOTTOM) / Math.max(1, rows.length);
  const size = (top + space - 4) / Math.max(highest, 1e-9);
  drawValueTicks(g, plan, (at) => ({ x: LEFT + at * plot, y: HEIGHT - 8, isAcross: true }));
  rows.forEach((row, i) => {
    const base = top + (i + 1) * space;
    const points = slots(plan, row).filter((slot) => !slot.isZero);
    g.beginPath();
    g.moveTo(LEFT, base);
    for (const { from, to, share } of points)
      g.lineTo(LEFT + ((from + to) / 2) * plot, base - share * size);
    g.lineTo(LEFT + plot, base);
    g.closePath();
    g.fillStyle = tint("--c1", 0.1 + (0.35 * i) / Math.max(1, rows.length - 1));
    g.fill();
    g.strokeStyle = color("--c1");
    g.lineWidth = 1;
    g.stroke();
    if (i % Math.max(1, Math.ceil(13 / space)) === 0 || (i === rows.length - 1 && space > 13))
      label(g, `${i === 0 ? "step " : ""}${data.steps[row]}`, LEFT - 8, base - 3, "right");
  });
}

function drawHeat(g: CanvasRenderingContext2D, plan: Plan): void {
  const { data, width, highest } = plan;
  const plot = width - LEFT,
    high = HEIGHT - TOP - BOTTOM,
    step = plot / Math.max(1, data.steps.length);
  const stops = STOPS.map((name) => parseColor(color(name)));
  data.steps.forEach((_, row) => {
    for (const { from, to, share, isZero } of slots(plan, row)) {
      const amount = Math.sqrt(Math.min(1, share / (isZero ? 1 : Math.max(highest, 1e-9))));
      g.fillStyle = share === 0 ? color("--card") : `rgb(${rampAt(stops, amount).join(" ")})`;
      g.fillRect(LEFT + row * step, TOP + (1 - to) * high, step + 0.6, (to - from) * high + 0.6);
    }
  });
  drawValueTicks(g, plan, (at) => ({ x: LEFT - 8, y: TOP + (1 - at) * high, isAcross: false }));
  const every = Math.max(1, Math.ceil(70 / step));
  data.steps.forEach((number, column) => {
    if (column % every === 0)
      label(g, `${column === 0 ? "step " : ""}${number}`, LEFT + column * step, HEIGHT - 8, "left");
  });
}

function drawValueTicks(
  g: CanvasRenderingContext2D,
  plan: Plan,
  locate: (at: number) => { x: number; y: number; isAcross: boolean },
): void {
  const isAcross = locate(0).isAcross;
  const count = isAcross ? plan.width / 90 : 12;
  for (const { at, value } of binning.peek() === "log"
    ? edgeLabels(plan.data.edges, plan.axis, count)
    : niceLabels(plan.data.edges, count)) {
    const { x, y } = locate(at);
    label(g, formatValue(value, ""), x, y, isAcross ? "center" : "right");
  }
}

function niceLabels(edges: readonly number[], count: number): { at: number; value: number }[] {
  const low = edges[0] ?? 0,
    high = edges[edges.length - 1] ?? 1;
  return niceTicks(low, high, count).map((value) => ({
    at: (value - low) / (high - low || 1),
    value,
  }));
}

function label(
  g: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  align: CanvasTextAlign,
): void {
  g.font = FONT;
  g.fillStyle = color("--muted");
  g.textAlign = align;
  g.textBaseline = "middle";
  g.fillText(text, x, y);
}
