// Where the tracks of a worker stand, and which slice lies under a point. Knows no canvas.

import type { Track } from "./source";

export const HEAD = 17;
export const LANE = 15;
export const THIN = 4;
const GAP = 5;
const MOST_LANES = 40;

/** A track from `top`: a line with its title, then `lanes` lanes of `lane` pixels. */
export type Placed = {
  track: Track;
  top: number;
  lane: number;
  lanes: number;
  height: number;
  isClosed: boolean;
};

/** Tracks below each other; closed ones are thin, very deep ones show their first lanes, those with nothing here only their titles. */
export function placeTracks(
  tracks: readonly Track[],
  closed: ReadonlySet<string>,
): { placed: Placed[]; height: number } {
  let top = 0;
  const placed = tracks.map((track) => {
    const isClosed = closed.has(track.title);
    const lane = isClosed ? THIN : LANE;
    const isEmpty = !track.starts.length && !track.narrow;
    const lanes = isEmpty ? 0 : Math.min(track.lanes, isClosed ? 4 : MOST_LANES);
    const one = { track, top, lane, lanes, height: HEAD + lanes * lane + GAP, isClosed };
    top += one.height;
    return one;
  });
  return { placed, height: Math.max(HEAD, top) };
}

/** What lies at a height: the track, and the lane; −1 where its title is. */
export function laneAt(
  placed: readonly Placed[],
  y: number,
): { placed: Placed; lane: number } | null {
  const found = placed.find((one) => y >= one.top && y < one.top + one.height);
  if (!found) return null;
  const lane = y < found.top + HEAD ? -1 : Math.floor((y - found.top - HEAD) / found.lane);
  return lane < found.lanes ? { placed: found, lane } : null;
}

/** The slice of a lane at a time, or the nearest one within `slack` seconds; −1 of none. */
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

/** The share of a lane that narrow slices cover at a time, 0..1. */
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

/** How long a track was busy in the window, as a share: its outermost lane. */
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

/** The next hit after (or before) a moment; wraps around. −1 of none. */
export function nextHit(starts: readonly number[], current: number, direction: 1 | -1): number {
  if (!starts.length) return -1;
  if (current < 0) return direction > 0 ? 0 : starts.length - 1;
  return (current + direction + starts.length) % starts.length;
}

/** The hit at or after a time, where one starts. */
export function firstHitFrom(starts: readonly number[], time: number): number {
  const found = starts.findIndex((start) => start >= time);
  return found < 0 ? (starts.length ? 0 : -1) : found;
}

/** A window around a hit: it takes a fifth of it; one that is seen well already stays. */
export function windowAround(
  start: number,
  seconds: number,
  view: readonly [number, number],
): readonly [number, number] {
  const width = view[1] - view[0];
  const share = seconds / width;
  const isSeen = start >= view[0] && start + seconds <= view[1];
  if (isSeen && share > 0.004 && share < 0.9) return view;
  const wanted = Math.max(1e-5, share > 0.9 || share < 0.004 ? seconds * 5 : width);
  return [start + seconds / 2 - wanted / 2, start + seconds / 2 + wanted / 2];
}

/** A name short enough for a width, by about how wide letters are; "" where nothing fits. */
export function fitting(name: string, width: number): string {
  const letters = Math.floor((width - 6) / 6.4);
  if (letters < 2) return "";
  if (name.length <= letters) return name;
  return letters < 4 ? name.slice(0, letters) : `${name.slice(0, letters - 1)}…`;
}

/** C++ names without their arguments: `void f<float>(int)` becomes `f<…>`. */
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

/** A slice by its track, its lane and its number in the track. */
export type Spot = { title: string; lane: number; index: number };

/** Where a key leads from a slice: ] and [ along its lane, j and k to the lane below and above at the same time. */
export function spotAfter(placed: readonly Placed[], from: Spot | null, key: string): Spot | null {
  if (!from) {
    const first = placed.find((one) => one.track.starts.length);
    return first ? { title: first.track.title, lane: first.track.lane[0]!, index: 0 } : null;
  }
  const at = placed.findIndex((one) => one.track.title === from.title);
  const { track } = placed[at]!;
  if (key === "]" || key === "[") {
    const step = key === "]" ? 1 : -1;
    for (let i = from.index + step; i >= 0 && i < track.starts.length; i += step)
      if (track.lane[i] === from.lane) return { ...from, index: i };
    return from;
  }
  const time = track.starts[from.index]! + track.seconds[from.index]! / 2;
  const rows = placed.flatMap((one) =>
    Array.from({ length: one.lanes }, (_, lane) => ({ track: one.track, lane })),
  );
  const step = key === "j" ? 1 : -1;
  for (
    let row = rows.findIndex((one) => one.track === track && one.lane === from.lane) + step;
    row >= 0 && row < rows.length;
    row += step
  ) {
    const { track: other, lane } = rows[row]!;
    const index = sliceAt(other, lane, time, track.seconds[from.index]! / 2);
    if (index >= 0) return { title: other.title, lane, index };
  }
  return from;
}
