// Links to profiled windows, which are often too short to spot in a long job.

import type { ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";
import { setView } from "../state";
import { shownTime } from "../time_axis";
import type { Profiled, TraceWindow } from "./source";

const MAX_WINDOWS = 12;

/** The windows of the first profiled worker; all workers profile the same steps. */
export function windowsOf(profiled: readonly Profiled[]): Profiled[] {
  const first = profiled[0]?.worker;
  return profiled.filter((window) => window.worker === first).slice(0, MAX_WINDOWS);
}

export function ProfiledWindows({
  data,
}: {
  data: ReadonlySignal<TraceWindow | null>;
}): JSX.Element | null {
  const windows = windowsOf(data.value?.profiled ?? []);
  if (!windows.length) return null;
  const show = ({ start, end }: Profiled): void => {
    const margin = Math.max((end - start) * 0.05, 1e-4);
    setView([start - margin, end + margin]);
  };
  return (
    <div class="profiled" role="group" aria-label="Profiled windows">
      <span class="sub">Profiled:</span>
      {windows.map((window) => (
        <button
          type="button"
          key={`${window.kind} ${window.start}`}
          title="Zoom to this window"
          onClick={() => show(window)}
        >
          {window.kind}
          {window.step >= 0 ? ` from step ${window.step}` : ""}{" "}
          <span class="sub">{shownTime(window.start)}</span>
        </button>
      ))}
    </div>
  );
}
