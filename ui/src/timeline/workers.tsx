// Chooses which workers are shown.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatDevices, parseDevices } from "../nodes/device_ranges";
import { ranks, shownRanks, showRanks } from "./state";

const MOST_BUTTONS = 8;

export function WorkerPicker(): JSX.Element | null {
  const known = ranks.value,
    shown = shownRanks.value;
  if (known.length < 2) return null;
  if (known.length > MOST_BUTTONS) return <RankField key={shown.join(",")} />;
  const toggle = (rank: number): void => {
    const next = shown.includes(rank) ? shown.filter((one) => one !== rank) : [...shown, rank];
    showRanks(next);
  };
  return (
    <span class="drag" role="group" aria-label="Workers">
      <span class="sub">workers:</span>
      {known.map((rank) => (
        <button
          type="button"
          key={rank}
          aria-pressed={shown.includes(rank)}
          onClick={() => toggle(rank)}
        >
          {rank}
        </button>
      ))}
    </span>
  );
}

function RankField(): JSX.Element {
  const [isWrong, setWrong] = useState(false);
  const take = (text: string): void => {
    const wanted = parseDevices(text, 1 << 20);
    setWrong(wanted === null);
    if (wanted) showRanks(wanted.filter((rank) => ranks.peek().includes(rank)));
  };
  return (
    <label class="choice">
      workers of {ranks.value.length}{" "}
      <input
        type="text"
        class="ranks"
        size={8}
        aria-invalid={isWrong}
        value={formatDevices(shownRanks.value)}
        title="Such as 0-3,8"
        onChange={(event) => take(event.currentTarget.value)}
      />
    </label>
  );
}
