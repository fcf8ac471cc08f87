// One node over time: cores, network, GPUs, every device, system against phases, totals, steps.

import { computed, type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { MetricDocument, NodeDocument } from "../api";
import { GUTTER, RIGHT } from "../gestures";
import { LineChart } from "../line";
import { news } from "../live";
import { always, useResource, useVisible, useWidth } from "../resource";
import { route } from "../router";
import { askedView, isLive } from "../state";
import { Notice, Stale } from "../states";
import { TimeAxis } from "../time_axis";
import { Breakdown } from "./breakdown";
import { ChartBlock } from "./chart_block";
import { rowMeans } from "./heat_image";
import { HeatmapChart } from "./heatmap";
import { Lanes } from "./lanes";
import { lineTable, toLineData, type Wanted } from "./line_data";
import { MoreCharts, moreWanted } from "./more_charts";
import { Picker } from "./picker";
import { type Kind, pickColor, picks } from "./picks";
import { type By, type Curves, coarsePixels, loadHeat, loadMetrics, loadSeries } from "./source";
import { StepBars } from "./step_bars";

const CPU = "cpu.utilization_percent",
  GPU = "gpu.utilization_percent",
  GPU_MEMORY = "gpu.memory_used_percent";
const RECEIVED = "network.receive_bytes_per_second",
  SENT = "network.transmit_bytes_per_second";
const IO_WAIT = "cpu.iowait_percent",
  MEMORY = "memory.used_percent";
const PIXELS_PER_POINT = 1.5;

type Metrics = ReadonlyMap<string, MetricDocument>;

function devicesOf(metrics: Metrics, metric: string): string[] {
  return metrics.get(metric)?.devices ?? [];
}

/** The mean of all devices with its band, and the picked ones. */
export function deviceLines(
  metric: string,
  devices: readonly string[],
  picked: readonly number[],
): Wanted[] {
  const mean: Wanted = devices.length
    ? {
        keys: [`${metric}:*mean`],
        label: devices.length > 1 ? "mean" : devices[0]!,
        color: "--c1",
        hasBand: true,
      }
    : { keys: [metric], label: "all", color: "--c1", hasBand: true };
  const chosen = picked.map((device, place) => ({
    keys: [`${metric}:${devices[device]}`],
    label: devices[device]!,
    color: pickColor(place),
  }));
  return [mean, ...chosen.filter((_, place) => devices[picked[place]!] !== undefined)];
}

function trafficLines(metrics: Metrics): Wanted[] {
  const keys = (metric: string): string[] => {
    const own = metrics.get(metric);
    return !own
      ? []
      : own.devices.length
        ? own.devices.map((device) => `${metric}:${device}`)
        : [metric];
  };
  return [
    { keys: keys(RECEIVED), label: "received", color: "--c1" },
    { keys: keys(SENT), label: "sent", color: "--c2" },
  ].filter((one) => one.keys.length);
}

function systemLines(metrics: Metrics): Wanted[] {
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

type Plan = Record<"cpu" | "network" | "gpu" | "gpuMemory" | "system", Wanted[]>;

function planOf(metrics: Metrics): Plan {
  const gpus = devicesOf(metrics, GPU);
  return {
    cpu: metrics.has(CPU) ? deviceLines(CPU, devicesOf(metrics, CPU), picks.cpu.value) : [],
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
  const isBare = useSignal(false);
  const known = useResource(
    (signal) => {
      void [isLive.value, isBare.value && news.samples.value];
      return loadMetrics(node.name, signal);
    },
    always,
    [node.name],
  );
  const list = known.value.value;
  useEffect(() => {
    isBare.value = list?.length === 0;
  }, [list]);
  if (!list)
    return (
      <Notice state={known.value.state === "error" ? "error" : "loading"}>
        {known.value.error || `Opening ${node.name}…`}
      </Notice>
    );
  return (
    <>
      {list.length ? (
        <NodeCharts
          key={node.name}
          node={node}
          metrics={new Map(list.map((one) => [one.metric, one]))}
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
  const pixels = useMemo(() => coarsePixels(width, GUTTER + RIGHT), []);
  const plan = useComputed(() => planOf(metrics));
  const more = useComputed(() => moreWanted(metrics));
  const keys = useComputed(() =>
    [
      ...new Set(
        [...Object.values(plan.value).flat(), ...more.value.flatMap((one) => one.lines)].flatMap(
          (one) => one.keys,
        ),
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
      (["mean", "max", "min"] as const).find((one) => one === route.value.parameters.by) ?? "mean",
  );
  const heat = useResource(
    (signal) => loadHeat(node.name, by.value, pixels.value, signal),
    isReady,
    [node.name],
  );
  const means = useComputed(() =>
    heat.value.value ? rowMeans(heat.value.value.heat, ...askedView.value) : null,
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
      <Lines
        name="cpu"
        title="CPU"
        sub={meanSentence("busy", node.cores, "cores")}
        curves={curves}
        plan={plan}
        top={100}
        unit="percent"
        controls={<Picker kind="cpu" count={devicesOf(metrics, CPU).length} loads={cpuLoads} />}
      />
      <Lines
        name="network"
        title="Network"
        sub="bytes per second, all interfaces"
        curves={curves}
        plan={plan}
        unit="bytes_per_second"
        height={84}
      />
      <Lines
        name="gpu"
        title="GPU"
        sub={busySentence(node, gpuLoads.value)}
        curves={curves}
        plan={plan}
        top={100}
        unit="percent"
        controls={<Picker kind="gpu" count={devicesOf(metrics, GPU).length} loads={gpuLoads} />}
      />
      <Lines
        name="gpuMemory"
        title="GPU memory"
        sub={meanSentence("used", node.gpus.length, "GPUs")}
        curves={curves}
        plan={plan}
        top={100}
        unit="percent"
      />
      <MoreCharts metrics={metrics} wanted={more} curves={curves} />
      <TimeAxis name="axis-system" />
      <HeatmapChart data={heat} by={by} means={means} />
      <Lines
        name="system"
        title="System"
        sub="means of the node, above what the framework did"
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

/** A recording of another program has steps, but no samples of a machine. */
function OnlyPhases({ node }: { node: NodeDocument }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const pixels = useMemo(() => coarsePixels(width, GUTTER + RIGHT), []);
  return (
    <div class="card flush" ref={box}>
      <Notice state="empty">
        No samples of the machine were recorded, only what the framework did.
      </Notice>
      <Lanes node={node.name} pixels={pixels} />
      <TimeAxis name="axis-phases" />
    </div>
  );
}

/** What a line and its band are. */
export function meanSentence(what: string, count: number, noun: string): string {
  return count > 1 ? `${what}, mean of ${count} ${noun}, band from lowest to highest` : what;
}

/** A GPU at 12 % of the mean may be one at 100 and seven at nought: that is said. */
export function busySentence(node: NodeDocument, loads: Float64Array | null): string {
  const count = node.gpus.length;
  const usual = meanSentence("busy", count, "GPUs");
  if (!loads || count < 2) return usual;
  const busy = loads.filter((load) => load >= 5).length;
  return busy > 0 && busy < count ? `${busy} of ${count} GPUs busy; ${usual}` : usual;
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
      twin={() => lineTable(props.title, data.value)}
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
