// Time by name in the selection or the visible window.

import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatDuration, formatPercent } from "../format";
import { always, useResource } from "../resource";
import { requestedView, selection, setSelection, setView } from "../state";
import { Waiting } from "../states";
import { shownTime } from "../time_axis";
import { sliceColor } from "./drawing";
import { shortName } from "./layout";
import { type PickColumn, PickTable } from "./pick_table";
import { loadTotals, type TotalRow } from "./source";
import { find, setFind, shownRanks, shownWorkers } from "./state";

export function TotalsCard({ tracks }: { tracks: readonly string[] }): JSX.Element {
  const [track, setTrack] = useState("");
  const range = useComputed(() => selection.value ?? requestedView.value);
  const totals = useResource(
    (signal) => loadTotals(range.value, shownWorkers.value, track, signal),
    always,
    [track],
  );
  const [from, to] = range.value;
  return (
    <section class="card" data-chart="timeline-totals" aria-labelledby="totals-title">
      <header>
        <h2 id="totals-title">Time by name {selection.value ? "in selection" : "in view"}</h2>
        <span class="sub">
          {shownTime(from)} – {shownTime(to)} · {formatDuration(to - from)}
        </span>
        <span class="end">
          <label class="choice">
            Track{" "}
            <select value={track} onChange={(event) => setTrack(event.currentTarget.value)}>
              <option value="">all</option>
              {tracks.map((title) => (
                <option key={title} value={title}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          {selection.value && (
            <button type="button" onClick={() => setView(selection.peek()!)}>
              Zoom to selection
            </button>
          )}
          {selection.value && (
            <button type="button" onClick={() => setSelection(null)}>
              Clear
            </button>
          )}
        </span>
      </header>
      <Waiting
        resource={totals.value}
        empty={(value) => (value.rows.length ? null : "No events in this window.")}
      >
        {(value) => (
          <>
            <PickTable
              label="Time by name"
              rows={value.rows}
              columns={columnsFor(to - from)}
              onPick={(row) => setFind(find.peek() === row.name ? "" : row.name)}
              isPicked={(row) => find.value === row.name}
            />
            {value.names > value.rows.length && (
              <p class="sub">
                Top {value.rows.length} of {formatCount(value.names)} names.
              </p>
            )}
          </>
        )}
      </Waiting>
    </section>
  );
}

function columnsFor(span: number): PickColumn<TotalRow>[] {
  const hasSeveralWorkers = shownRanks.value.length > 1;
  return [
    {
      title: "Name",
      value: (row) => row.name,
      show: (row) => (
        <span title={row.name}>
          <i class="swatch" style={{ background: `var(${sliceColor(row.category, row.name)})` }} />
          {shortName(row.name)}
        </span>
      ),
    },
    {
      title: "Track",
      value: (row) => row.track,
      show: (row) => (hasSeveralWorkers ? `${row.worker}: ${row.track}` : row.track),
    },
    {
      title: "Self",
      isNumber: true,
      value: (row) => row.self_seconds,
      show: (row) => formatDuration(row.self_seconds),
    },
    {
      title: "% of time",
      isNumber: true,
      value: (row) => row.self_seconds / span,
      show: (row) => formatPercent((100 * row.self_seconds) / span),
    },
    {
      title: "Total",
      isNumber: true,
      value: (row) => row.seconds,
      show: (row) => formatDuration(row.seconds),
    },
    {
      title: "Count",
      isNumber: true,
      value: (row) => row.count,
      show: (row) => formatCount(row.count),
    },
    {
      title: "Mean",
      isNumber: true,
      value: (row) => row.mean_seconds,
      show: (row) => formatDuration(row.mean_seconds),
    },
    {
      title: "Longest",
      isNumber: true,
      value: (row) => row.longest_seconds,
      show: (row) => formatDuration(row.longest_seconds),
    },
  ];
}
