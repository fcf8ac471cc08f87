// Layout and hit testing of the tracks of a worker, independent of the canvas.

import type { Track } from "./source";

export const HEAD = 17;
export const LANE = 15;
export const THIN = 4;
const GAP = 5;
const MAX_LANES = 40;

/** A track at `top`: a title line, then `lanes` lanes of `lane` pixels. */
export type Placed = {
  track: Track;
  top: number;
  lane: number;
  lanes: number;
  height: number;
  isClosed: boolean;
};

/** Stacks tracks: collapsed tracks are thin, deep ones show only the first lanes, empty ones only their title. */
export function layoutTracks(
  tracks: readonly Track[],
  closed: ReadonlySet<string>,
): { placed: Placed[]; height: number } {
  let top = 0;
  const placed = tracks.map((track) => {
    const isClosed = closed.has(track.title);
    const lane = isClosed ? THIN : LANE;
    const isEmpty = !track.starts.length && !track.narrow;
    const lanes = isEmpty ? 0 : Math.min(track.lanes, isClosed ? 4 : MAX_LANES);
    const entry = { track, top, lane, lanes, height: HEAD + lanes * lane + GAP, isClosed };
    top += entry.height;
    return entry;
  });
  return { placed, height: Math.max(HEAD, top) };
}

/** The track and lane at a vertical position; lane −1 is the title. */
export function laneAt(
  placed: readonly Placed[],
  y: number,
): { placed: Placed; lane: number } | null {
  const match = placed.find((entry) => y >= entry.top && y < entry.top + entry.height);
  if (!match) return null;
  const lane = y < match.top + HEAD ? -1 : Math.floor((y - match.top - HEAD) / match.lane);
  return lane < match.lanes ? { placed: match, lane } : null;
}

/** The slice of a lane at a time, or the nearest one within `slack` seconds; −1 if none. */
export function sliceAt(track: Track, lane: number, time: number, slack: number): number {
  let best = -1,
    distance = slack;
  for (let i = 0; i < track.starts.length; i++) {
    if (track.lane[i] !== lane) continue;
    const start = track.starts[i]!;
    if (start > time + slack) break;
    const away = Math.max(start - time, time - start - track.seconds[i]!, 0);
    if (away <= distance) {
      best = i;
      distance = away;
    }
  }
  return best;
}

/** The share of a lane that narrow slices cover at a time, from 0 to 1. */
export function coveredAt(
  track: Track,
  px: number,
  window: readonly [number, number],
  lane: number,
  time: number,
): number {
  const column = Math.floor(((time - window[0]) / (window[1] - window[0])) * px);
  if (!track.covered || column < 0 || column >= px) return 0;
  return (track.covered[lane * px + column] ?? 0) / 250;
}

/** The fraction of the window in which the outermost lane of a track was busy. */
export function busyShare(
  track: Track,
  px: number,
  data: readonly [number, number],
  window: readonly [number, number],
): number {
  let busy = 0;
  for (let i = 0; i < track.starts.length; i++) {
    if (track.lane[i] !== 0) continue;
    const start = track.starts[i]!;
    busy += Math.max(
      0,
      Math.min(window[1], start + track.seconds[i]!) - Math.max(window[0], start),
    );
  }
  if (track.covered) {
    const width = (data[1] - data[0]) / px;
    for (let column = 0; column < px; column++) {
      const at = data[0] + (column + 0.5) * width;
      if (at >= window[0] && at < window[1]) busy += (track.covered[column]! / 250) * width;
    }
  }
  return Math.min(1, busy / (window[1] - window[0]));
}

/** The index of the next or previous hit, wrapping around; −1 if there are none. */
export function nextHit(starts: readonly number[], current: number, direction: 1 | -1): number {
  if (!starts.length) return -1;
  if (current < 0) return direction > 0 ? 0 : starts.length - 1;
  return (current + direction + starts.length) % starts.length;
}

/** The index of the first hit at or after a time, or the first hit of all. */
export function firstHitFrom(starts: readonly number[], time: number): number {
  const index = starts.findIndex((start) => start >= time);
  return index < 0 ? (starts.length ? 0 : -1) : index;
}

/** A window five times as wide as a hit; the current window if the hit is clearly visible in it. */
export function windowAround(
  start: number,
  seconds: number,
  view: readonly [number, number],
): readonly [number, number] {
  const width = view[1] - view[0];
  const share = seconds / width;
  const isInside = start >= view[0] && start + seconds <= view[1];
  if (isInside && share > 0.004 && share < 0.9) return view;
  const targetWidth = Math.max(1e-5, share > 0.9 || share < 0.004 ? seconds * 5 : width);
  return [start + seconds / 2 - targetWidth / 2, start + seconds / 2 + targetWidth / 2];
}

/** A name truncated to a width by the average letter width; "" if nothing fits. */
export function fitting(name: string, width: number): string {
  const letters = Math.floor((width - 6) / 6.4);
  if (letters < 2) return "";
  if (name.length <= letters) return name;
  return letters < 4 ? name.slice(0, letters) : `${name.slice(0, letters - 1)}…`;
}

/** A C++ name without its arguments: `void f<float>(int)` becomes `f<…>`. */
export function shortName(name: string): string {
  if (!/[<(]/.test(name) || !/::|^void /.test(name)) return name;
  let depth = 0,
    text = "";
  for (const letter of name.replace(/^void /, "").replaceAll("(anonymous namespace)::", "")) {
    if (letter === "<" && depth++ === 0) text += "<…";
    if (letter === "(" && depth === 0 && !text.endsWith("::")) break;
    if (depth === 0) text += letter;
    if (letter === ">" && depth > 0 && --depth === 0) text += ">";
  }
  return text.replace(/^at::native::/, "") || name;
}

/** A slice by its track, lane and index in the track. */
export type Spot = { title: string; lane: number; index: number };

/** The slice that a key moves to: ] and [ within the lane, j and k to the lane below or above at the same time. */
export function spotAfter(placed: readonly Placed[], from: Spot | null, key: string): Spot | null {
  if (!from) {
    const first = placed.find((entry) => entry.track.starts.length);
    return first ? { title: first.track.title, lane: first.track.lane[0]!, index: 0 } : null;
  }
  const at = placed.findIndex((entry) => entry.track.title === from.title);
  const { track } = placed[at]!;
  if (key === "]" || key === "[") {
    const step = key === "]" ? 1 : -1;
    for (let i = from.index + step; i >= 0 && i < track.starts.length; i += step)
      if (track.lane[i] === from.lane) return { ...from, index: i };
    return from;
  }
  const time = track.starts[from.index]! + track.seconds[from.index]! / 2;
  const rows = placed.flatMap((entry) =>
    Array.from({ length: entry.lanes }, (_, lane) => ({ track: entry.track, lane })),
  );
  const step = key === "j" ? 1 : -1;
  for (
    let row = rows.findIndex((row) => row.track === track && row.lane === from.lane) + step;
    row >= 0 && row < rows.length;
    row += step
  ) {
    const { track: target, lane } = rows[row]!;
    const index = sliceAt(target, lane, time, track.seconds[from.index]! / 2);
    if (index >= 0) return { title: target.title, lane, index };
  }
  return from;
}
