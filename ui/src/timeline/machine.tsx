// Key metrics of each node, above the tracks of its workers.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { LINES } from "../colors";
import { LineChart, type LineData } from "../line";
import type { Counter, TraceWindow } from "./source";

const TITLES: Record<string, string> = {
  "cpu.utilization_percent": "CPU",
  "gpu.utilization_percent": "GPU",
  "gpu.memory_used_percent": "GPU mem",
  "memory.used_percent": "Memory",
  "disk.busy_percent": "Disk",
};

function titleOf({ metric, device }: Counter): string {
  const title = TITLES[metric] ?? metric;
  return device.startsWith("gpu") ? `${title} ${device.slice(3)}` : title;
}

/** The counters of a node as lines with common sample times. */
export function machineLines(counters: readonly Counter[]): LineData {
  const measured = counters.filter((counter) =>
    counter.mean.some((value) => Number.isFinite(value)),
  );
  return {
    x: measured[0]?.x ?? new Float64Array(0),
    unit: "percent",
    lines: measured.map((counter, i) => ({
      key: `${counter.metric}/${counter.device}`,
      label: titleOf(counter),
      color: LINES[i % LINES.length]!,
      mean: counter.mean,
      ...(i === 0 ? { low: counter.low, high: counter.high } : {}),
    })),
  };
}

export function MachineChart({
  node,
  data,
}: {
  node: string;
  data: ReadonlySignal<TraceWindow | null>;
}): JSX.Element | null {
  const lines = useComputed(() =>
    machineLines((data.value?.counters ?? []).filter((counter) => counter.node === node)),
  );
  const isEmpty = useComputed(
    () => data.value !== null && !data.value.counters.some((counter) => counter.node === node),
  );
  if (isEmpty.value) return null;
  return (
    <>
      <div class="chart-head">
        <h2>{node}</h2>
        <span class="sub">Utilization</span>
      </div>
      <LineChart
        name={`timeline-machine-${node}`}
        title={`Utilization of node ${node}`}
        data={lines}
        top={100}
        height={104}
      />
    </>
  );
}
