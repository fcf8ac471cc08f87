// The time axis under a group of charts, with the hover time on it.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Area, FONT, TimeCanvas } from "./canvas";
import { color } from "./colors";
import { formatClock, formatElapsed, formatStamp, wallClock, zoneName } from "./format";
import { xAt } from "./gestures";
import { hover, job, jobStart, timeStyle, view, zone } from "./state";
import { clockTicks, elapsedTicks, type Tick } from "./ticks";

export const TICK_PIXELS = 96;

/** Ticks of the window in the selected time format. */
export function shownTicks(window: readonly [number, number], plot: number): Tick[] {
  const count = Math.max(2, plot / TICK_PIXELS);
  return timeStyle.value === "elapsed"
    ? elapsedTicks(window[0], window[1], count)
    : clockTicks(window[0], window[1], count, jobStart.value, zone.value);
}

/** An instant in the selected time format, with the precision of the window. */
export function shownTime(at: number): string {
  const span = view.value[1] - view.value[0];
  return timeStyle.value === "elapsed"
    ? formatElapsed(at, span)
    : formatClock(jobStart.value + at, zone.value, span);
}

/** Ticks and times of charts over the whole job; reports have no job and show elapsed time. */
export function jobTicks(from: number, to: number, count: number): Tick[] {
  return job.value && timeStyle.value === "clock"
    ? clockTicks(from, to, count, jobStart.value, zone.value)
    : elapsedTicks(from, to, count);
}

export function jobTime(at: number): string {
  return job.value && timeStyle.value === "clock"
    ? formatClock(jobStart.value + at, zone.value)
    : formatElapsed(at);
}

/** An instant as elapsed time and as a time stamp. */
export function exactTime(at: number): string {
  return `${formatElapsed(at, view.value[1] - view.value[0])} · ${formatStamp(jobStart.value + at, zone.value)}`;
}

/** A time range in the selected format; with dates and zone for clock times. */
export function shownRange(from: number, to: number): string {
  if (timeStyle.value === "elapsed") return `${shownTime(from)} – ${shownTime(to)}`;
  const [first, last] = [jobStart.value + from, jobStart.value + to];
  const [firstDay, lastDay] = [
    wallClock(first, zone.value).slice(0, 10),
    wallClock(last, zone.value).slice(0, 10),
  ];
  return `${firstDay} ${shownTime(from)} – ${lastDay === firstDay ? "" : `${lastDay} `}${shownTime(to)} ${zoneName(last, zone.value)}`;
}

const HEIGHT = 22;

function drawAxis(g: CanvasRenderingContext2D, area: Area): void {
  g.font = FONT;
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const tick of shownTicks(area.window, area.plot)) {
    const x = xAt(tick.at, area.width, area.window);
    g.fillStyle = color("--base");
    g.fillRect(Math.round(x), 0, 1, tick.isMajor ? 6 : 4);
    g.fillStyle = tick.isMajor ? color("--ink2") : color("--muted");
    g.fillText(tick.label, x, 14);
  }
}

export function TimeAxis({ name }: { name: string }): JSX.Element {
  const label = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = label.current!,
      axis = element.parentElement!;
    return effect(() => {
      const at = hover.value,
        [from, to] = view.value;
      const isShown = at !== null && at >= from && at <= to;
      element.hidden = !isShown;
      if (!isShown) return;
      element.textContent = shownTime(at);
      element.style.transform = `translateX(calc(${xAt(at, axis.clientWidth, view.value)}px - 50%))`;
    });
  }, []);
  return (
    <TimeCanvas
      name={name}
      label="Time axis"
      height={HEIGHT}
      draw={drawAxis}
      depends={() => [timeStyle.value, zone.value]}
    >
      <div class="time-label" ref={label} hidden />
    </TimeCanvas>
  );
}
