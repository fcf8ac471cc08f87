// Additional metric charts of a node, stored in the URL.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import type { MetricDocument } from "../api";
import { LINES } from "../colors";
import { unitLabel } from "../format";
import { LineChart } from "../line";
import { route, setParameters } from "../router";
import { ChartBlock } from "./chart_block";
import { type LineRequest, lineTable, toLineData } from "./line_data";
import type { Curves } from "./source";

const MAX_LINES = 6;

type Metrics = ReadonlyMap<string, MetricDocument>;
export type MoreChart = { metric: MetricDocument; lines: LineRequest[] };

function chosen(): string[] {
  return (route.value.parameters.more ?? "").split(",").filter(Boolean);
}

/** A line for the node and one per device, or the mean of many devices. */
export function linesOf(metric: MetricDocument): LineRequest[] {
  const nodeLines: LineRequest[] = metric.has_whole
    ? [{ keys: [metric.metric], label: "node", color: LINES[0], hasBand: true }]
    : [];
  const colors = LINES.slice(nodeLines.length);
  // Keys are separated by commas in a request, so devices with a comma in their name are only part of the mean.
  if (metric.devices.length > MAX_LINES || metric.devices.some((device) => device.includes(",")))
    return [
      ...nodeLines,
      {
        keys: [`${metric.metric}:*mean`],
        label: `mean of ${metric.devices.length}`,
        color: colors[0]!,
        hasBand: true,
      },
    ];
  return [
    ...nodeLines,
    ...metric.devices.map((device, i) => ({
      keys: [`${metric.metric}:${device}`],
      label: device,
      color: colors[i]!,
      hasBand: metric.devices.length === 1,
    })),
  ];
}

export function selectedCharts(metrics: Metrics): MoreChart[] {
  return chosen().flatMap((name) => {
    const metric = metrics.get(name);
    return metric ? [{ metric, lines: linesOf(metric) }] : [];
  });
}

type Props = {
  metrics: Metrics;
  charts: ReadonlySignal<MoreChart[]>;
  curves: ReadonlySignal<{ value: Curves | null }>;
};

export function MoreCharts({ metrics, charts, curves }: Props): JSX.Element {
  const add = (name: string): void => {
    if (name) setParameters({ more: [...new Set([...chosen(), name])].join(",") });
  };
  return (
    <>
      {charts.value.map((chart) => (
        <MoreLines key={chart.metric.metric} chart={chart} curves={curves} />
      ))}
      <div class="more-charts">
        <label class="choice">
          Add chart{" "}
          <select
            value=""
            onChange={(event) => {
              add(event.currentTarget.value);
              event.currentTarget.value = "";
            }}
          >
            <option value="">Select a metric…</option>
            {[...metrics.keys()]
              .filter((name) => !chosen().includes(name))
              .map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
          </select>
        </label>
      </div>
    </>
  );
}

function MoreLines({
  chart,
  curves,
}: {
  chart: MoreChart;
  curves: ReadonlySignal<{ value: Curves | null }>;
}): JSX.Element {
  const { metric } = chart;
  const data = useComputed(() => toLineData(curves.value.value, linesOf(metric), metric.unit));
  const remove = (): void =>
    setParameters({
      more: chosen()
        .filter((name) => name !== metric.metric)
        .join(","),
    });
  const unit = unitLabel(metric.unit);
  return (
    <ChartBlock
      title={metric.metric}
      sub={unit ? `${metric.help}, ${unit}` : metric.help}
      table={() => lineTable(metric.metric, data.value)}
      controls={
        <button type="button" class="quiet" onClick={remove}>
          Remove
        </button>
      }
    >
      <LineChart
        name={`metric:${metric.metric}`}
        title={metric.metric}
        data={data}
        height={84}
        top={metric.unit === "percent" && !metric.metric.startsWith("process") ? 100 : undefined}
      />
    </ChartBlock>
  );
}
