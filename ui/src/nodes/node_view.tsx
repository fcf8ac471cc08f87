// A node over time: CPU, network, GPU, heatmap, phases, breakdown and steps.

import { computed, type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { MetricDocument, NodeDocument } from "../api";
import { FindingsTrack } from "../findings_track";
import { LineChart } from "../line";
import { updates } from "../live";
import { always, useResource, useVisible, useWidth } from "../resource";
import { route } from "../router";
import { isLive, requestedView } from "../state";
import { Notice, Stale } from "../states";
import { TimeAxis } from "../time_axis";
import { Breakdown } from "./breakdown";
import { ChartBlock } from "./chart_block";
import { rowMeans } from "./heat_image";
import { HeatmapChart } from "./heatmap";
import { Lanes } from "./lanes";
import { type LineRequest, lineTable, toLineData } from "./line_data";
import { MoreCharts, selectedCharts } from "./more_charts";
import { Picker } from "./picker";
import { type Kind, pickColor, picks } from "./picks";
import { type By, type Curves, coarsePixels, loadHeat, loadMetrics, loadSeries } from "./source";
import { StepBars } from "./step_bars";

const CPU = "cpu.utilization_percent",
  GPU = "gpu.utilization_percent",
  GPU_MEMORY = "gpu.memory_used_percent";
const JOB_CPU = "process_tree.cpu_percent"; // of one core
const RECEIVED = "network.receive_bytes_per_second",
  SENT = "network.transmit_bytes_per_second";
const IO_WAIT = "cpu.iowait_percent",
  MEMORY = "memory.used_percent";
const PIXELS_PER_POINT = 1.5;

type Metrics = ReadonlyMap<string, MetricDocument>;

function devicesOf(metrics: Metrics, metric: string): string[] {
  return metrics.get(metric)?.devices ?? [];
}

/** The mean of all devices with a min–max band, and the picked devices. */
export function deviceLines(
  metric: string,
  devices: readonly string[],
  picked: readonly number[],
): LineRequest[] {
  const mean: LineRequest = devices.length
    ? {
        keys: [`${metric}:*mean`],
        label: devices.length > 1 ? "mean" : devices[0]!,
        color: "--c1",
        hasBand: true,
      }
    : { keys: [metric], label: "all", color: "--c1", hasBand: true };
  const chosen = picked.map((device, index) => ({
    keys: [`${metric}:${devices[device]}`],
    label: devices[device]!,
    color: pickColor(index),
  }));
  return [mean, ...chosen.filter((_, index) => devices[picked[index]!] !== undefined)];
}

/** The share of the job within the utilization of the machine; the rest is other processes. */
export function cpuLines(metrics: Metrics, picked: readonly number[]): LineRequest[] {
  if (!metrics.has(CPU)) return [];
  const cores = devicesOf(metrics, CPU);
  const [mean, ...chosen] = deviceLines(CPU, cores, picked);
  if (!mean || !metrics.has(JOB_CPU) || cores.length === 0) return mean ? [mean, ...chosen] : [];
  const share: LineRequest = {
    keys: [JOB_CPU],
    label: "this job",
    color: "--c7",
    scale: 1 / cores.length,
    isFilled: true,
  };
  return [mean, share, ...chosen];
}

function trafficLines(metrics: Metrics): LineRequest[] {
  const keys = (metric: string): string[] => {
    const traffic = metrics.get(metric);
    return !traffic
      ? []
      : traffic.devices.length
        ? traffic.devices.map((device) => `${metric}:${device}`)
        : [metric];
  };
  return [
    { keys: keys(RECEIVED), label: "received", color: "--c1" },
    { keys: keys(SENT), label: "sent", color: "--c2" },
  ].filter((line) => line.keys.length);
}

function systemLines(metrics: Metrics): LineRequest[] {
  const every: [string, string, string][] = [
    [CPU, "CPU", "--c1"],
    [GPU, "GPU", "--c3"],
    [IO_WAIT, "I/O wait", "--c8"],
    [MEMORY, "memory", "--c7"],
  ];
  return every
    .filter(([metric]) => metrics.has(metric))
    .map(([metric, label, color]) => ({
      keys: [metrics.get(metric)!.devices.length ? `${metric}:*mean` : metric],
      label,
      color,
    }));
}

type Plan = Record<"cpu" | "network" | "gpu" | "gpuMemory" | "system", LineRequest[]>;

function planOf(metrics: Metrics): Plan {
  const gpus = devicesOf(metrics, GPU);
  return {
    cpu: cpuLines(metrics, picks.cpu.value),
    network: trafficLines(metrics),
    gpu: gpus.length ? deviceLines(GPU, gpus, picks.gpu.value) : [],
    gpuMemory:
      gpus.length && metrics.has(GPU_MEMORY)
        ? deviceLines(GPU_MEMORY, devicesOf(metrics, GPU_MEMORY), picks.gpu.value)
        : [],
    system: systemLines(metrics),
  };
}

export function NodeView({ node }: { node: NodeDocument }): JSX.Element {
  const hasNoMetrics = useSignal(false);
  const metrics = useResource(
    (signal) => {
      void [isLive.value, hasNoMetrics.value && updates.samples.value];
      return loadMetrics(node.name, signal);
    },
    always,
    [node.name],
  );
  const list = metrics.value.value;
  useEffect(() => {
    hasNoMetrics.value = list?.length === 0;
  }, [list]);
  if (!list)
    return (
      <Notice state={metrics.value.state === "error" ? "error" : "loading"}>
        {metrics.value.error || `Opening ${node.name}…`}
      </Notice>
    );
  return (
    <>
      {list.length ? (
        <NodeCharts
          key={node.name}
          node={node}
          metrics={new Map(list.map((document) => [document.metric, document]))}
        />
      ) : (
        <OnlyPhases key={node.name} node={node} />
      )}
      <div class="two">
        <Breakdown node={node.name} />
        <StepBars node={node.name} />
      </div>
    </>
  );
}

function NodeCharts({ node, metrics }: { node: NodeDocument; metrics: Metrics }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const isVisible = useVisible(box);
  const isReady = useComputed(() => isVisible.value && width.value > 0);
  const pixels = useMemo(() => coarsePixels(width), []);
  const plan = useComputed(() => planOf(metrics));
  const more = useComputed(() => selectedCharts(metrics));
  const keys = useComputed(() =>
    [
      ...new Set(
        [
          ...Object.values(plan.value).flat(),
          ...more.value.flatMap((chart) => chart.lines),
        ].flatMap((line) => line.keys),
      ),
    ].join(","),
  );
  const curves = useResource(
    (signal) =>
      loadSeries(
        node.name,
        keys.value.split(",").filter(Boolean),
        Math.round(pixels.value / PIXELS_PER_POINT),
        signal,
      ),
    isReady,
    [node.name],
  );
  const by = useComputed<By>(
    () =>
      (["mean", "max", "min"] as const).find((option) => option === route.value.parameters.by) ??
      "mean",
  );
  const heat = useResource(
    (signal) => loadHeat(node.name, by.value, pixels.value, signal),
    isReady,
    [node.name],
  );
  const means = useComputed(() =>
    heat.value.value ? rowMeans(heat.value.value.heat, ...requestedView.value) : null,
  );
  const loads = (kind: Kind): ReadonlySignal<Float64Array | null> =>
    computed(
      () => means.value?.filter((_, row) => heat.value.value!.devices[row]!.kind === kind) ?? null,
    );
  const cpuLoads = useMemo(() => loads("cpu"), []),
    gpuLoads = useMemo(() => loads("gpu"), []);
  return (
    <div
      class="card flush"
      ref={box}
      data-state={curves.value.value ? "ready" : curves.value.state}
    >
      <Stale resource={curves.value} />
      <FindingsTrack />
      <Lines
        name="cpu"
        title="CPU"
        sub={meanCaption("Utilization", node.cores, "cores")}
        curves={curves}
        plan={plan}
        top={100}
        unit="percent"
        controls={<Picker kind="cpu" count={devicesOf(metrics, CPU).length} loads={cpuLoads} />}
      />
      <Lines
        name="network"
        title="Network"
        sub="Bytes per second, all interfaces"
        curves={curves}
        plan={plan}
        unit="bytes_per_second"
        height={84}
      />
      <Lines
        name="gpu"
        title="GPU"
        sub={gpuCaption(node, gpuLoads.value)}
        curves={curves}
        plan={plan}
        top={100}
        unit="percent"
        controls={<Picker kind="gpu" count={devicesOf(metrics, GPU).length} loads={gpuLoads} />}
      />
      <Lines
        name="gpuMemory"
        title="GPU memory"
        sub={meanCaption("Used", node.gpus.length, "GPUs")}
        curves={curves}
        plan={plan}
        top={100}
        unit="percent"
      />
      <MoreCharts metrics={metrics} charts={more} curves={curves} />
      <TimeAxis name="axis-system" />
      <HeatmapChart data={heat} by={by} means={means} />
      <Lines
        name="system"
        title="System"
        sub="Node averages"
        curves={curves}
        plan={plan}
        top={100}
        unit="percent"
        height={96}
      />
      <Lanes node={node.name} pixels={pixels} />
      <TimeAxis name="axis-phases" />
    </div>
  );
}

/** Imported recordings have steps but no system samples. */
function OnlyPhases({ node }: { node: NodeDocument }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const pixels = useMemo(() => coarsePixels(width), []);
  return (
    <div class="card flush" ref={box}>
      <FindingsTrack />
      <Notice state="empty">No system samples recorded, only framework phases.</Notice>
      <Lanes node={node.name} pixels={pixels} />
      <TimeAxis name="axis-phases" />
    </div>
  );
}

/** The caption of a line and its band. */
export function meanCaption(what: string, count: number, noun: string): string {
  return count > 1 ? `${what}, mean of ${count} ${noun} with min–max band` : what;
}

/** The caption of the GPU chart, with the number of busy GPUs: a mean of 12% can be one GPU of eight at 100%. */
export function gpuCaption(node: NodeDocument, loads: Float64Array | null): string {
  const count = node.gpus.length;
  const caption = meanCaption("Utilization", count, "GPUs");
  if (!loads || count < 2) return caption;
  const busy = loads.filter((load) => load >= 5).length;
  return busy > 0 && busy < count ? `${busy} of ${count} GPUs active. ${caption}` : caption;
}

type LinesProps = {
  name: keyof Plan;
  title: string;
  sub: string;
  unit: string;
  top?: number;
  height?: number;
  controls?: ComponentChildren;
  curves: ReadonlySignal<{ value: Curves | null }>;
  plan: ReadonlySignal<Plan>;
};

function Lines(props: LinesProps): JSX.Element | null {
  const data = useComputed(() =>
    toLineData(props.curves.value.value, props.plan.value[props.name], props.unit),
  );
  if (!props.plan.value[props.name].length) return null;
  return (
    <ChartBlock
      title={props.title}
      sub={props.sub}
      controls={props.controls}
      table={() => lineTable(props.title, data.value)}
    >
      <LineChart
        name={props.name}
        title={props.title}
        data={data}
        top={props.top}
        height={props.height ?? 110}
      />
    </ChartBlock>
  );
}
