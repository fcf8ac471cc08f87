// Selected metrics of a node over time, one chart each.

import { computed, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { MetricDocument } from "../api";
import { unitLabel } from "../format";
import { LineChart } from "../line";
import { always, useResource, useVisible, useWidth } from "../resource";
import { Notice } from "../states";
import { ChartBlock } from "./chart_block";
import { type LineRequest, lineTable, toLineData } from "./line_data";
import { linesOf } from "./more_charts";
import { coarsePixels, loadMetrics, loadSeries } from "./source";

/** Shown for findings of rules that look at no metric. */
const DEFAULTS = ["gpu.utilization_percent", "cpu.utilization_percent"];
const PIXELS_PER_POINT = 1.5;

type Props = { node: string; metrics: readonly string[]; device: string | null };

export function MetricLines({ node, metrics, device }: Props): JSX.Element {
  const documents = useResource((signal) => loadMetrics(node, signal), always, [node]).value;
  if (!documents.value)
    return (
      <Notice state={documents.state === "error" ? "error" : "loading"}>
        {documents.error || "Loading…"}
      </Notice>
    );
  const recorded = documents.value;
  const shown = (metrics.length ? metrics : DEFAULTS)
    .map((name) => recorded.find((document) => document.metric === name))
    .filter((document): document is MetricDocument => document !== undefined);
  return (
    <>
      {(metrics.length ? shown : shown.slice(0, 1)).map((document) => (
        <MetricChart key={document.metric} node={node} document={document} device={device} />
      ))}
    </>
  );
}

type ChartProps = { node: string; document: MetricDocument; device: string | null };

function MetricChart({ node, document, device }: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const isVisible = useVisible(box);
  const isReady = useMemo(() => computed(() => isVisible.value && width.value > 0), []);
  const pixels = useMemo(() => coarsePixels(width), []);
  const lines = useMemo(() => requestsOf(document, device), [document, device]);
  const curves = useResource(
    (signal) =>
      loadSeries(
        node,
        lines.flatMap((line) => line.keys),
        Math.round(pixels.value / PIXELS_PER_POINT),
        signal,
      ),
    isReady,
    [node, document.metric],
  );
  const data = useComputed(() => toLineData(curves.value.value, lines, document.unit));
  return (
    <div ref={box} class="ruled">
      <ChartBlock
        title={document.metric}
        sub={`${node}, ${unitLabel(document.unit)}`}
        table={() => lineTable(document.metric, data.value)}
      >
        <LineChart
          name={`metric-${document.metric}`}
          title={`${document.metric} of ${node}`}
          data={data}
          top={document.unit === "percent" ? 100 : undefined}
          height={130}
        />
      </ChartBlock>
    </div>
  );
}

/** The device of the finding, or all devices. */
function requestsOf(document: MetricDocument, device: string | null): LineRequest[] {
  const lines = linesOf(document);
  if (!device || !document.devices.includes(device)) return lines;
  const others = lines.filter((line) => !line.keys.includes(`${document.metric}:${device}`));
  const color = others.length < lines.length ? "--c1" : "--c2";
  const chosen: LineRequest = {
    keys: [`${document.metric}:${device}`],
    label: device,
    color,
    hasBand: true,
  };
  return [chosen, ...others.slice(0, 7)];
}
