// Links to profiled windows, which are often too short to spot in a long job.

import { effect, type ReadonlySignal, untracked } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isSame, type Range } from "../range";
import { route } from "../router";
import { extent, isFullView, setView, showAll, view } from "../state";
import { shownTime } from "../time_axis";
import type { Profiled, TraceWindow } from "./source";

const MAX_WINDOWS = 12;

/** The windows of the first profiled worker; all workers profile the same steps. */
export function windowsOf(profiled: readonly Profiled[]): Profiled[] {
  const first = profiled[0]?.worker;
  return profiled.filter((window) => window.worker === first).slice(0, MAX_WINDOWS);
}

const MAX_SHARE = 0.2; // of the job: a longer window is no detail

/** The window to open the timeline on: that of the profiles, if they are a small part of the job. */
export function openingWindow(profiled: readonly Profiled[], end: number): Range | null {
  const [first, ...others] = windowsOf(profiled);
  if (!first) return null;
  let [from, to] = [first.start, first.end];
  for (const window of others) {
    if (window.end - from > MAX_SHARE * end) break;
    to = Math.max(to, window.end);
  }
  if (to - from > MAX_SHARE * end) return null;
  const margin = Math.max((to - from) * 0.05, 1e-4);
  return [Math.max(0, from - margin), to + margin];
}

/** Opens the timeline on the profiled steps instead of an almost empty job, unless the URL has a window. */
export function useOpeningWindow(data: ReadonlySignal<TraceWindow | null>): void {
  useEffect(() => {
    if (route.peek().parameters.t) return;
    let opened: Range | null = null;
    const stop = effect(() => {
      const trace = data.value;
      if (!trace || opened) return;
      const window = isFullView.peek() ? openingWindow(trace.profiled, extent.peek()[1]) : null;
      opened = window ?? extent.peek();
      if (window) untracked(() => setView(window, "replace"));
    });
    return () => {
      stop();
      // other pages show the entire job again
      if (opened && isSame(opened, view.peek()) && route.peek().page !== "timeline") showAll();
    };
  }, []);
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
