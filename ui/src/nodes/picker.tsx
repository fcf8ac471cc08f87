// Picker of cores or GPUs: by number, the busiest, or individually.

import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Popover } from "../popover";
import { busiest, formatDevices, parseDevices } from "./device_ranges";
import { type Kind, MAX_PICKS, pickColor, picks, setPicks, togglePick } from "./picks";

type Props = {
  kind: Kind;
  count: number;
  /** The mean utilization of each device in the window, if loaded. */
  loads: ReadonlySignal<Float64Array | null>;
};

export function Picker({ kind, count, loads }: Props): JSX.Element | null {
  const picked = picks[kind].value;
  const noun = kind === "cpu" ? "cores" : "GPUs";
  if (count < 2) return null;
  return (
    <span class="picker">
      <Popover
        label={picked.length ? `${noun} ${formatDevices(picked)}` : `Pick ${noun}`}
        title={`Pick ${noun}`}
      >
        <NumberField kind={kind} count={count} noun={noun} />
        <div class="row">
          <button
            type="button"
            disabled={!loads.value}
            onClick={() => loads.value && setPicks(kind, busiest(loads.value, 5))}
          >
            5 busiest
          </button>
          <button type="button" disabled={!picked.length} onClick={() => setPicks(kind, [])}>
            Mean only
          </button>
        </div>
        <div class="grid" role="group" aria-label={noun}>
          {Array.from({ length: count }, (_, i) => (
            <Toggle key={i} kind={kind} index={i} colorIndex={picked.indexOf(i)} />
          ))}
        </div>
        <p class="sub">
          Up to {MAX_PICKS} in addition to the mean. You can also click a row of the heatmap.
        </p>
      </Popover>
    </span>
  );
}

function Toggle({
  kind,
  index,
  colorIndex,
}: {
  kind: Kind;
  index: number;
  colorIndex: number;
}): JSX.Element {
  const style =
    colorIndex >= 0
      ? {
          background: `color-mix(in srgb, var(${pickColor(colorIndex)}) 30%, var(--card))`,
          borderColor: `var(${pickColor(colorIndex)})`,
        }
      : {};
  return (
    <button
      type="button"
      aria-pressed={colorIndex >= 0}
      style={style}
      onClick={() => togglePick(kind, index)}
    >
      {index}
    </button>
  );
}

function NumberField({
  kind,
  count,
  noun,
}: {
  kind: Kind;
  count: number;
  noun: string;
}): JSX.Element {
  const error = useSignal("");
  const take = (text: string): void => {
    const devices = parseDevices(text, count);
    error.value = devices ? "" : "Enter numbers and ranges, such as 0-7,11.";
    if (devices) setPicks(kind, devices);
  };
  return (
    <label class="numbers">
      {noun} by number
      <input
        type="text"
        inputMode="numeric"
        placeholder="0-3,11"
        value={formatDevices(picks[kind].value)}
        aria-invalid={Boolean(error.value)}
        onChange={(event) => take(event.currentTarget.value)}
      />
      {error.value && (
        <span role="alert" class="wrong">
          {error.value}
        </span>
      )}
    </label>
  );
}
