// uPlot options for curves over steps.

import type uPlot from "uplot";
import { cellText } from "../cells";
import type { LineChartSpec } from "../generated/chart_specs";
import type { Range } from "../range";
import { elapsedLabel, elapsedTicks, logarithmicTicks, niceTicks } from "../ticks";
import { axisLabels } from "./axis_labels";
import { type CurveTable, valueAxis } from "./curves";

type Plan = {
  spec: LineChartSpec;
  table: CurveTable;
  width: number;
  height: number;
  isLogarithmic: boolean;
  range: Range;
  color: (variable: string) => string;
  variable: (tone: string, index: number) => string;
};

const FONT = "11px Inter, system-ui, -apple-system, 'Segoe UI', sans-serif";
const LOGARITHMIC = 3; // uPlot's `distr` value for logarithmic scales
const LETTER_PIXELS = 6.2; // average width
const MIN_LEFT = 44;

export function plotOptions(plan: Plan): uPlot.Options {
  const { spec, width, height, isLogarithmic, range, color } = plan;
  const line = {
    stroke: () => color("--muted"),
    grid: { stroke: () => color("--grid"), width: 1 },
    ticks: { show: false },
    font: FONT,
  };
  const hasIntegerSteps = spec.x.every((at) => Number.isInteger(at));
  const ends = (_plot: uPlot, minimum: number | null, maximum: number | null): [number, number] =>
    valueAxis(spec, minimum, maximum, isLogarithmic);
  const isTime = spec.x_unit === "seconds";
  const marks = (from: number, to: number, count: number): number[] =>
    isTime
      ? elapsedTicks(from, to, count).map((tick) => tick.at)
      : niceTicks(from, to, count).filter((at) => !hasIntegerSteps || Number.isInteger(at));
  const labels = (at: number[]): string[] =>
    at.map((tick) =>
      isTime
        ? elapsedLabel(tick, at.length > 1 ? at[1]! - at[0]! : 1)
        : cellText(tick, spec.x_unit),
    );
  return {
    width,
    height,
    padding: [8, 14, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: `over ${spec.x_title}` },
      y: false,
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false },
    },
    scales: {
      x: { time: false, min: range[0], max: range[1] },
      y: isLogarithmic ? { distr: LOGARITHMIC, range: ends } : { range: ends },
    },
    axes: [
      {
        ...line,
        size: 24,
        splits: (_plot, _axis, from, to) => marks(from, to, Math.max(2, width / 110)),
        values: (_plot, splits) => labels(splits),
      },
      {
        ...line,
        size: (_plot, values) => labelWidth(values),
        splits: (_plot, _axis, from, to) =>
          (isLogarithmic ? logarithmicTicks : niceTicks)(from, to, height < 120 ? 2 : 4),
        filter: (_plot, splits) => splits, // label all ticks, also on logarithmic scales
        values: (_plot, splits) => axisLabels(splits, spec.unit),
      },
    ],
    ...seriesOf(plan),
  };
}

/** The width of the longest label. */
function labelWidth(values: readonly string[] | null): number {
  const longest = Math.max(0, ...(values ?? []).map((label) => label?.length ?? 0));
  return Math.max(MIN_LEFT, Math.round(longest * LETTER_PIXELS) + 14);
}

function seriesOf({ table, color, variable }: Plan): Pick<uPlot.Options, "series" | "bands"> {
  const invisible: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false } };
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const { tone, index } of table.shown.filter((curve) => curve.hasBand)) {
    const name = variable(tone, index);
    bands.push({
      series: [series.length, series.length + 1],
      fill: () => `color-mix(in srgb, ${color(name)} 18%, transparent)`,
    });
    series.push(invisible, invisible);
  }
  const isShort = (table.columns[0]?.length ?? 0) <= 40;
  for (const { tone, index, hasMarkers } of table.shown) {
    const name = variable(tone, index);
    const points =
      isShort || hasMarkers ? { show: true, size: 5, fill: () => color(name) } : { show: false };
    series.push({ stroke: () => color(name), width: 1.75, points, spanGaps: true });
  }
  return { series, bands };
}
