// Any other metric of the node as a chart of its own; which ones stand in the address.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import type { MetricDocument } from "../api";
import { LINES } from "../colors";
import { unitLabel } from "../format";
import { LineChart } from "../line";
import { route, setParameters } from "../router";
import { ChartBlock } from "./chart_block";
import { lineTable, toLineData, type Wanted } from "./line_data";
import type { Curves } from "./source";

const MOST_LINES = 6;

type Metrics = ReadonlyMap<string, MetricDocument>;
export type MoreChart = { metric: MetricDocument; lines: Wanted[] };

function chosen(): string[] {
  return (route.value.parameters.more ?? "").split(",").filter(Boolean);
}

/** A line for the whole node, and one per device while they are few; else their mean. */
export function linesOf(metric: MetricDocument): Wanted[] {
  const whole: Wanted[] = metric.has_whole
    ? [{ keys: [metric.metric], label: "node", color: LINES[0], hasBand: true }]
    : [];
  const room = LINES.slice(whole.length);
  // A comma parts keys in a question, so what has one in its name is shown among all.
  if (metric.devices.length > MOST_LINES || metric.devices.some((device) => device.includes(",")))
    return [
      ...whole,
      {
        keys: [`${metric.metric}:*mean`],
        label: `mean of ${metric.devices.length}`,
        color: room[0]!,
        hasBand: true,
      },
    ];
  return [
    ...whole,
    ...metric.devices.map((device, i) => ({
      keys: [`${metric.metric}:${device}`],
      label: device,
      color: room[i]!,
      hasBand: metric.devices.length === 1,
    })),
  ];
}

export function moreWanted(metrics: Metrics): MoreChart[] {
  return chosen().flatMap((name) => {
    const metric = metrics.get(name);
    return metric ? [{ metric, lines: linesOf(metric) }] : [];
  });
}

type Props = {
  metrics: Metrics;
  wanted: ReadonlySignal<MoreChart[]>;
  curves: ReadonlySignal<{ value: Curves | null }>;
};

export function MoreCharts({ metrics, wanted, curves }: Props): JSX.Element {
  const add = (name: string): void => {
    if (name) setParameters({ more: [...new Set([...chosen(), name])].join(",") });
  };
  return (
    <>
      {wanted.value.map((one) => (
        <MoreLines key={one.metric.metric} chart={one} curves={curves} />
      ))}
      <div class="more-charts">
        <label class="choice">
          Add a chart{" "}
          <select
            value=""
            onChange={(event) => {
              add(event.currentTarget.value);
              event.currentTarget.value = "";
            }}
          >
            <option value="">choose a metric…</option>
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
      twin={() => lineTable(metric.metric, data.value)}
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
