// Where profilers looked deeper: often too short to be found among hours.

import type { ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";
import { setView } from "../state";
import { shownTime } from "../time_axis";
import type { Profiled, TraceWindow } from "./source";

const MOST = 12;

/** The windows of the first worker that has any; others look at the same steps. */
export function windowsOf(profiled: readonly Profiled[]): Profiled[] {
  const first = profiled[0]?.worker;
  return profiled.filter((one) => one.worker === first).slice(0, MOST);
}

export function ProfiledStretches({
  data,
}: {
  data: ReadonlySignal<TraceWindow | null>;
}): JSX.Element | null {
  const windows = windowsOf(data.value?.profiled ?? []);
  if (!windows.length) return null;
  const show = ({ start, end }: Profiled): void => {
    const room = Math.max((end - start) * 0.05, 1e-4);
    setView([start - room, end + room]);
  };
  return (
    <div class="profiled" role="group" aria-label="Where profilers looked deeper">
      <span class="sub">recorded in depth:</span>
      {windows.map((one) => (
        <button
          type="button"
          key={`${one.kind} ${one.start}`}
          title="Zoom to it"
          onClick={() => show(one)}
        >
          {one.kind}
          {one.step >= 0 ? ` from step ${one.step}` : ""}{" "}
          <span class="sub">{shownTime(one.start)}</span>
        </button>
      ))}
    </div>
  );
}
