// The metrics that tell most about each node, above what its workers did.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { LINES } from "../colors";
import { LineChart, type LineData } from "../line";
import type { Counter, TraceWindow } from "./source";

const TITLES: Record<string, string> = {
  "cpu.utilization_percent": "CPU",
  "gpu.utilization_percent": "GPU",
  "gpu.memory_used_percent": "mem GPU",
  "memory.used_percent": "memory",
  "disk.busy_percent": "disk",
};

function titleOf({ metric, device }: Counter): string {
  const title = TITLES[metric] ?? metric;
  return device.startsWith("gpu") ? `${title} ${device.slice(3)}` : title;
}

/** All curves of one node share its moments. */
export function machineLines(counters: readonly Counter[]): LineData {
  const seen = counters.filter((one) => one.mean.some((value) => Number.isFinite(value)));
  return {
    x: seen[0]?.x ?? new Float64Array(0),
    unit: "percent",
    lines: seen.map((one, i) => ({
      key: `${one.metric}/${one.device}`,
      label: titleOf(one),
      color: LINES[i % LINES.length]!,
      mean: one.mean,
      ...(i === 0 ? { low: one.low, high: one.high } : {}),
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
    machineLines((data.value?.counters ?? []).filter((one) => one.node === node)),
  );
  const isEmpty = useComputed(
    () => data.value !== null && !data.value.counters.some((one) => one.node === node),
  );
  if (isEmpty.value) return null;
  return (
    <>
      <div class="chart-head">
        <h2>{node}</h2>
        <span class="sub">machine, busy or used</span>
      </div>
      <LineChart
        name={`timeline-machine-${node}`}
        title={`Machine ${node}: share busy or used`}
        data={lines}
        top={100}
        height={104}
      />
    </>
  );
}
