// Which cores and GPUs are drawn beside the mean; they stand in the address.

import { computed, type ReadonlySignal } from "@preact/signals";
import { LINES } from "../colors";
import { route, setParameters } from "../router";
import { formatDevices, parseDevices } from "./device_ranges";

export const MOST_PICKS = LINES.length - 1;

export type Kind = "cpu" | "gpu";
const PARAMETER: Record<Kind, string> = { cpu: "cores", gpu: "gpus" };

const texts: Record<Kind, ReadonlySignal<string>> = {
  cpu: computed(() => route.value.parameters.cores ?? ""),
  gpu: computed(() => route.value.parameters.gpus ?? ""),
};

/** The picked devices by their place, lowest first. */
export const picks: Record<Kind, ReadonlySignal<number[]>> = {
  cpu: computed(() => (parseDevices(texts.cpu.value, 4096) ?? []).slice(0, MOST_PICKS)),
  gpu: computed(() => (parseDevices(texts.gpu.value, 4096) ?? []).slice(0, MOST_PICKS)),
};

export function setPicks(kind: Kind, devices: readonly number[]): void {
  setParameters({ [PARAMETER[kind]]: formatDevices(devices.slice(0, MOST_PICKS)) });
}

export function togglePick(kind: Kind, device: number): void {
  const now = picks[kind].peek();
  setPicks(
    kind,
    now.includes(device)
      ? now.filter((one) => one !== device)
      : [...now, device].slice(-MOST_PICKS),
  );
}

/** The color of the pick at a place; the mean has the first. */
export const pickColor = (place: number): string => LINES[1 + (place % MOST_PICKS)]!;
