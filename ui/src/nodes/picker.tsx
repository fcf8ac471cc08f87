// Picks cores or GPUs, two of them or 256: by number, the busiest, or one by one.

import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Popover } from "../popover";
import { busiest, formatDevices, parseDevices } from "./device_ranges";
import { type Kind, MOST_PICKS, pickColor, picks, setPicks, togglePick } from "./picks";

type Props = {
  kind: Kind;
  count: number;
  /** How busy each is in the window, where that is known. */
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
            <Toggle key={i} kind={kind} index={i} place={picked.indexOf(i)} />
          ))}
        </div>
        <p class="sub">
          At most {MOST_PICKS} beside the mean. A click on a row of the heatmap picks it, too.
        </p>
      </Popover>
    </span>
  );
}

function Toggle({ kind, index, place }: { kind: Kind; index: number; place: number }): JSX.Element {
  const style =
    place >= 0
      ? {
          background: `color-mix(in srgb, var(${pickColor(place)}) 30%, var(--card))`,
          borderColor: `var(${pickColor(place)})`,
        }
      : {};
  return (
    <button
      type="button"
      aria-pressed={place >= 0}
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
    const found = parseDevices(text, count);
    error.value = found ? "" : "Write numbers and ranges, like 0-7,11.";
    if (found) setPicks(kind, found);
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
