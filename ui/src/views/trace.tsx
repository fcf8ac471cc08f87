// The tracks of one worker over time: steps, phases, operators, kernels, collectives, Python.

import type { ReadonlySignal } from "@preact/signals";
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { type Area, drawSelection, TimeCanvas } from "../canvas";
import { formatDuration, formatPercent } from "../format";
import type { Point } from "../gestures";
import { drawTracks } from "../timeline/drawing";
import { coveredAt, laneAt, placeTracks, type Spot, sliceAt, spotAfter } from "../timeline/layout";
import type { TraceWindow } from "../timeline/source";
import { choose, chosen, closed, dragMeans, find, toggleTrack } from "../timeline/state";

const NEAR_PIXELS = 2;

type Props = { worker: number; data: ReadonlySignal<TraceWindow | null> };

export function WorkerTrace({ worker, data }: Props): JSX.Element {
  const tracks = useComputed(
    () => data.value?.workers.find((one) => one.worker === worker)?.tracks ?? [],
  );
  const layout = useComputed(() => placeTracks(tracks.value, closed.value));
  const { height } = layout.value;
  const draw = (g: CanvasRenderingContext2D, area: Area): void => {
    drawSelection(g, area);
    const place = chosen.peek();
    const own =
      place?.worker === worker ? { title: place.track, lane: place.lane, at: place.at } : null;
    if (data.peek())
      drawTracks(g, area, data.peek()!, layout.peek().placed, { find: find.peek(), chosen: own });
  };
  const under = (
    point: Point,
    area: Area,
  ): { title: string; lane: number; index: number; covered: number } | null => {
    const found = laneAt(layout.peek().placed, point.y);
    if (!found || !data.peek()) return null;
    const { track } = found.placed;
    const slack = (NEAR_PIXELS * (area.window[1] - area.window[0])) / area.plot;
    const index = found.lane < 0 ? -1 : sliceAt(track, found.lane, point.time, slack);
    const covered =
      found.lane < 0
        ? 0
        : coveredAt(track, data.peek()!.px, data.peek()!.window, found.lane, point.time);
    return { title: track.title, lane: found.lane, index, covered };
  };
  const tip = (point: Point, area: Area): string | null => {
    const found = under(point, area);
    if (!found || found.lane < 0) return null;
    if (found.index < 0)
      return found.covered
        ? `${formatPercent(100 * found.covered)} of this pixel, in slices too narrow to be drawn: zoom in`
        : null;
    const track = tracks.peek().find((one) => one.title === found.title)!;
    const name = data.peek()!.names[track.name[found.index]!]!;
    return `${name.length > 90 ? `${name.slice(0, 89)}…` : name} · ${formatDuration(track.seconds[found.index]!)}`;
  };
  const onClick = (point: Point, area: Area): void => {
    const spot = under(point, area);
    if (spot && spot.lane < 0) toggleTrack(spot.title);
    else if (!spot || spot.index < 0) choose(null);
    else pick(spot);
  };
  const pick = ({ title, lane, index }: Spot): void => {
    const track = tracks.peek().find((one) => one.title === title)!;
    choose({
      worker,
      track: title,
      lane,
      at: Number((track.starts[index]! + track.seconds[index]! / 2).toFixed(9)),
    });
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!["[", "]", "j", "k"].includes(event.key) || event.ctrlKey || event.metaKey) return;
    const place = chosen.peek();
    const track =
      place?.worker === worker ? tracks.peek().find((one) => one.title === place.track) : undefined;
    const index = place && track ? sliceAt(track, place.lane, place.at, 0) : -1;
    const next = spotAfter(
      layout.peek().placed,
      place && index >= 0 ? { title: place.track, lane: place.lane, index } : null,
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
        label={`Timeline of worker ${worker}: what it did, track by track. The keys ] and [ go from slice to slice, j and k from lane to lane. Sums of the same stand in a table below.`}
        height={height}
        draw={draw}
        tip={tip}
        onClick={onClick}
        dragMeans={dragMeans.value}
        depends={() => [data.value, layout.value, find.value, chosen.value]}
        data={() => ({
          tracks: tracks.peek().map((one) => ({
            title: one.title,
            count: one.count,
            narrow: one.narrow,
            slices: one.starts.length,
          })),
          names: data.peek()?.names,
          places: layout
            .peek()
            .placed.map((one) => ({ title: one.track.title, top: one.top, lane: one.lane })),
        })}
      />
    </div>
  );
}
