// Draws the tracks of a worker.

import { type Area, FONT } from "../canvas";
import { color, phaseColor } from "../colors";
import { formatPercent } from "../format";
import { xAt } from "../gestures";
import { parseColor } from "../views/heat_colors";
import { busyShare, fitting, HEAD, type Placed, shortName } from "./layout";
import type { TraceWindow, Track } from "./source";

const BY_CATEGORY: Record<string, string> = {
  step: "--base",
  runtime: "--n1",
  annotation: "--n4",
  collective: phaseColor("collective"),
  loading: phaseColor("data_wait"),
  window: "--base",
  overhead: "--base",
  copy: phaseColor("host_to_device"),
  set: "--n3",
};
/** Functions, operators and kernels: the colors of phases mean phases only. */
const PALETTE = ["--n1", "--n2", "--n3", "--n4"];

const blends = new Map<string, string>();
let blendsCard = "";

/** A color blended with the card's background, so that text stays readable in both themes. */
export function tint(variable: string, share: number): string {
  const card = color("--card");
  if (blendsCard !== card) blends.clear();
  blendsCard = card;
  const key = `${variable} ${share}`;
  let blended = blends.get(key);
  if (!blended) {
    const over = parseColor(color(variable)),
      under = parseColor(card);
    blended = `rgb(${over.map((value, i) => Math.round(value * share + under[i]! * (1 - share))).join(" ")})`;
    blends.set(key, blended);
  }
  return blended;
}

function hash(text: string): number {
  let sum = 7;
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) % 9973;
  return sum;
}

/** The CSS variable of a slice: by phase, by category, or by name for operators and kernels. */
export function sliceColor(category: string, name: string): string {
  if (category === "phase" || category === "device" || category === "user") return phaseColor(name);
  return BY_CATEGORY[category] ?? PALETTE[hash(shortName(name)) % PALETTE.length]!;
}

export type Emphasis = { find: string; chosen: { title: string; lane: number; at: number } | null };

export function drawTracks(
  g: CanvasRenderingContext2D,
  area: Area,
  data: TraceWindow,
  placed: readonly Placed[],
  emphasis: Emphasis,
): void {
  const needle = emphasis.find.toLowerCase();
  const isHit = data.names.map((name) => needle !== "" && name.toLowerCase().includes(needle));
  for (const placedTrack of placed) {
    drawHead(g, area, data, placedTrack);
    g.save();
    g.beginPath();
    g.rect(area.left, placedTrack.top + HEAD, area.plot, placedTrack.lanes * placedTrack.lane);
    g.clip();
    drawCovered(g, area, data, placedTrack, needle !== "");
    drawSlices(g, area, data, placedTrack, {
      isHit,
      isSearching: needle !== "",
      chosen: emphasis.chosen?.title === placedTrack.track.title ? emphasis.chosen : null,
    });
    g.restore();
  }
}

function drawHead(
  g: CanvasRenderingContext2D,
  area: Area,
  data: TraceWindow,
  { track, top, isClosed }: Placed,
): void {
  g.font = FONT;
  g.textBaseline = "middle";
  g.fillStyle = color("--grid");
  g.fillRect(0, top, area.width, 1);
  g.fillStyle = color("--muted");
  g.textAlign = "left";
  g.fillText(isClosed ? "▸" : "▾", 8, top + HEAD / 2 + 1);
  g.fillStyle = color("--ink2");
  g.fillText(fitting(track.title, area.plot), 20, top + HEAD / 2 + 1);
  g.fillStyle = color("--muted");
  g.fillText(
    formatPercent(100 * busyShare(track, data.px, data.window, area.window)),
    area.left + area.plot + 10,
    top + HEAD / 2 + 1,
  );
}

/** Draws narrow slices as bars whose height is their share of the column. */
function drawCovered(
  g: CanvasRenderingContext2D,
  area: Area,
  data: TraceWindow,
  { track, top, lane, lanes }: Placed,
  isSearching: boolean,
): void {
  if (!track.covered) return;
  const { coveredNames } = track;
  const { names } = data;
  const [from, to] = data.window;
  const width = (to - from) / data.px;
  const column = (area.plot * width) / (area.window[1] - area.window[0]);
  // neutral where it stands for slices of several names
  const neutral = tint("--muted", isSearching ? 0.18 : 0.42);
  const colorOf = (cell: number): string => {
    const name = coveredNames?.[cell];
    if (name === undefined || isSearching) return neutral;
    return tint(phaseColor(names[name]!), 0.6);
  };
  for (let row = 0; row < lanes; row++) {
    const bottom = top + HEAD + (row + 1) * lane - 1;
    for (let i = 0; i < data.px; i++) {
      const code = track.covered[row * data.px + i]!;
      if (!code) continue;
      let end = i + 1;
      const cell = row * data.px + i;
      while (
        end < data.px &&
        track.covered[row * data.px + end] === code &&
        coveredNames?.[row * data.px + end] === coveredNames?.[cell]
      )
        end++;
      g.fillStyle = colorOf(cell);
      const height = Math.max(1, ((lane - 1) * code) / 250);
      g.fillRect(
        xAt(from + i * width, area.width, area.window),
        bottom - height,
        Math.max(1, (end - i) * column),
        height,
      );
      i = end - 1;
    }
  }
}

type Marked = {
  isHit: readonly boolean[];
  isSearching: boolean;
  chosen: { lane: number; at: number } | null;
};

function drawSlices(
  g: CanvasRenderingContext2D,
  area: Area,
  data: TraceWindow,
  { track, top, lane, lanes }: Placed,
  marked: Marked,
): void {
  const perSecond = area.plot / (area.window[1] - area.window[0]);
  const right = area.left + area.plot;
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.font = FONT;
  for (let i = 0; i < track.starts.length; i++) {
    const row = track.lane[i]!;
    if (row >= lanes) continue;
    const x = area.left + (track.starts[i]! - area.window[0]) * perSecond;
    const width = Math.max(1, track.seconds[i]! * perSecond);
    if (x > right || x + width < area.left) continue;
    drawSlice(g, track, i, data, marked, {
      x,
      y: top + HEAD + row * lane,
      width,
      lane,
      left: area.left,
      right,
    });
  }
}

type Box = { x: number; y: number; width: number; lane: number; left: number; right: number };

function drawSlice(
  g: CanvasRenderingContext2D,
  track: Track,
  i: number,
  data: TraceWindow,
  marked: Marked,
  box: Box,
): void {
  const { x, y, width, lane, left, right } = box;
  const name = data.names[track.name[i]!]!;
  const isFaint = marked.isSearching && !marked.isHit[track.name[i]!];
  const variable = sliceColor(data.categories[track.category[i]!]!, name);
  g.fillStyle = tint(variable, isFaint ? 0.14 : marked.isSearching ? 0.8 : 0.5);
  g.fillRect(x, y, width > 3 ? width - 1 : width, lane - 1);
  const chosen = marked.chosen;
  if (
    chosen &&
    chosen.lane === track.lane[i] &&
    chosen.at >= track.starts[i]! &&
    chosen.at <= track.starts[i]! + track.seconds[i]!
  ) {
    g.strokeStyle = color("--ink");
    g.lineWidth = 2;
    g.strokeRect(x + 1, y + 1, Math.max(2, width - 3), lane - 3);
  }
  if (lane < 10 || width < 22) return;
  const from = Math.max(x, left);
  const text = fitting(shortName(name), Math.min(x + width, right) - from);
  if (!text) return;
  g.fillStyle = isFaint ? color("--muted") : color("--ink");
  g.fillText(text, from + 4, y + lane / 2);
}
