// Selection of the displayed workers.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatDevices, parseDevices } from "../nodes/device_ranges";
import { ranks, shownRanks, showRanks } from "./state";

const MAX_BUTTONS = 8;

export function WorkerPicker(): JSX.Element | null {
  const allRanks = ranks.value,
    shown = shownRanks.value;
  if (allRanks.length < 2) return null;
  if (allRanks.length > MAX_BUTTONS) return <RankField key={shown.join(",")} />;
  const toggle = (rank: number): void => {
    const next = shown.includes(rank)
      ? shown.filter((candidate) => candidate !== rank)
      : [...shown, rank];
    showRanks(next);
  };
  return (
    <span class="drag" role="group" aria-label="Workers">
      <span class="sub">Workers:</span>
      {allRanks.map((rank) => (
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
    const parsed = parseDevices(text, 1 << 20);
    setWrong(parsed === null);
    if (parsed) showRanks(parsed.filter((rank) => ranks.peek().includes(rank)));
  };
  return (
    <label class="choice">
      Workers (of {ranks.value.length}){" "}
      <input
        type="text"
        class="ranks"
        size={8}
        aria-invalid={isWrong}
        value={formatDevices(shownRanks.value)}
        title="Numbers and ranges, such as 0-3,8"
        onChange={(event) => take(event.currentTarget.value)}
      />
    </label>
  );
}
