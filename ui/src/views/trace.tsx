// The tracks of a worker over time: steps, phases, operators, kernels, collectives, Python.

import type { ReadonlySignal } from "@preact/signals";
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { type Area, drawSelection, TimeCanvas } from "../canvas";
import { formatDuration, formatPercent } from "../format";
import type { Point } from "../gestures";
import { drawTracks } from "../timeline/drawing";
import { coveredAt, laneAt, layoutTracks, type Spot, sliceAt, spotAfter } from "../timeline/layout";
import type { TraceWindow } from "../timeline/source";
import { choose, chosen, closed, dragMode, find, toggleTrack } from "../timeline/state";

const NEAR_PIXELS = 2;

type Props = { worker: number; data: ReadonlySignal<TraceWindow | null> };

export function WorkerTrace({ worker, data }: Props): JSX.Element {
  const tracks = useComputed(
    () => data.value?.workers.find((tracks) => tracks.worker === worker)?.tracks ?? [],
  );
  const layout = useComputed(() => layoutTracks(tracks.value, closed.value));
  const { height } = layout.value;
  const draw = (g: CanvasRenderingContext2D, area: Area): void => {
    drawSelection(g, area);
    const selected = chosen.peek();
    const selectedSlice =
      selected?.worker === worker
        ? { title: selected.track, lane: selected.lane, at: selected.at }
        : null;
    if (data.peek())
      drawTracks(g, area, data.peek()!, layout.peek().placed, {
        find: find.peek(),
        chosen: selectedSlice,
      });
  };
  const under = (
    point: Point,
    area: Area,
  ): { title: string; lane: number; index: number; covered: number } | null => {
    const hit = laneAt(layout.peek().placed, point.y);
    if (!hit || !data.peek()) return null;
    const { track } = hit.placed;
    const slack = (NEAR_PIXELS * (area.window[1] - area.window[0])) / area.plot;
    const index = hit.lane < 0 ? -1 : sliceAt(track, hit.lane, point.time, slack);
    const covered =
      hit.lane < 0
        ? 0
        : coveredAt(track, data.peek()!.px, data.peek()!.window, hit.lane, point.time);
    return { title: track.title, lane: hit.lane, index, covered };
  };
  const tip = (point: Point, area: Area): string | null => {
    const hit = under(point, area);
    if (!hit || hit.lane < 0) return null;
    if (hit.index < 0)
      return hit.covered
        ? `${formatPercent(100 * hit.covered)} of this pixel, in slices too narrow to draw. Zoom in to see them.`
        : null;
    const track = tracks.peek().find((candidate) => candidate.title === hit.title)!;
    const name = data.peek()!.names[track.name[hit.index]!]!;
    return `${name.length > 90 ? `${name.slice(0, 89)}…` : name} · ${formatDuration(track.seconds[hit.index]!)}`;
  };
  const onClick = (point: Point, area: Area): void => {
    const spot = under(point, area);
    if (spot && spot.lane < 0) toggleTrack(spot.title);
    else if (!spot || spot.index < 0) choose(null);
    else pick(spot);
  };
  const pick = ({ title, lane, index }: Spot): void => {
    const track = tracks.peek().find((candidate) => candidate.title === title)!;
    choose({
      worker,
      track: title,
      lane,
      at: Number((track.starts[index]! + track.seconds[index]! / 2).toFixed(9)),
    });
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!["[", "]", "j", "k"].includes(event.key) || event.ctrlKey || event.metaKey) return;
    const selected = chosen.peek();
    const track =
      selected?.worker === worker
        ? tracks.peek().find((candidate) => candidate.title === selected.track)
        : undefined;
    const index = selected && track ? sliceAt(track, selected.lane, selected.at, 0) : -1;
    const next = spotAfter(
      layout.peek().placed,
      selected && index >= 0 ? { title: selected.track, lane: selected.lane, index } : null,
      event.key,
    );
    if (next) pick(next);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div onKeyDown={onKey}>
      <TimeCanvas
        name={`trace-worker-${worker}`}
        label={`Timeline of worker ${worker}. The keys ] and [ move between slices, j and k between lanes. A table below lists the totals.`}
        height={height}
        draw={draw}
        tip={tip}
        onClick={onClick}
        dragMode={dragMode.value}
        depends={() => [data.value, layout.value, find.value, chosen.value]}
        data={() => ({
          tracks: tracks.peek().map((track) => ({
            title: track.title,
            count: track.count,
            narrow: track.narrow,
            slices: track.starts.length,
          })),
          names: data.peek()?.names,
          tracksLayout: layout.peek().placed.map((entry) => ({
            title: entry.track.title,
            top: entry.top,
            lane: entry.lane,
          })),
        })}
      />
    </div>
  );
}
