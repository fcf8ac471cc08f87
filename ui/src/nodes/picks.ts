// Cores and GPUs that are drawn in addition to the mean, stored in the URL.

import { computed, type ReadonlySignal } from "@preact/signals";
import { LINES } from "../colors";
import { route, setParameters } from "../router";
import { formatDevices, parseDevices } from "./device_ranges";

export const MAX_PICKS = LINES.length - 1;

export type Kind = "cpu" | "gpu";
const PARAMETER: Record<Kind, string> = { cpu: "cores", gpu: "gpus" };

const texts: Record<Kind, ReadonlySignal<string>> = {
  cpu: computed(() => route.value.parameters.cores ?? ""),
  gpu: computed(() => route.value.parameters.gpus ?? ""),
};

/** The indices of picked devices, in ascending order. */
export const picks: Record<Kind, ReadonlySignal<number[]>> = {
  cpu: computed(() => (parseDevices(texts.cpu.value, 4096) ?? []).slice(0, MAX_PICKS)),
  gpu: computed(() => (parseDevices(texts.gpu.value, 4096) ?? []).slice(0, MAX_PICKS)),
};

export function setPicks(kind: Kind, devices: readonly number[]): void {
  setParameters({ [PARAMETER[kind]]: formatDevices(devices.slice(0, MAX_PICKS)) });
}

export function togglePick(kind: Kind, device: number): void {
  const now = picks[kind].peek();
  setPicks(
    kind,
    now.includes(device)
      ? now.filter((index) => index !== device)
      : [...now, device].slice(-MAX_PICKS),
  );
}

/** The color of a picked device; the mean has the first color. */
export const pickColor = (index: number): string => LINES[1 + (index % MAX_PICKS)]!;
