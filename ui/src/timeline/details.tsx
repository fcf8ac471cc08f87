// Details of the selected slice.

import type { JSX } from "preact";
import { phaseName } from "../colors";
import { formatDuration } from "../format";
import { always, useResource } from "../resource";
import { setSelection, setView } from "../state";
import { Notice, Waiting } from "../states";
import { exactTime } from "../time_axis";
import { formatSlicePath, loadSlice, type SliceDetails } from "./source";
import { choose, chosen, setFind } from "./state";

export function DetailsCard(): JSX.Element {
  const slicePath = chosen.value;
  return (
    <section
      class="card"
      data-chart="timeline-details"
      aria-labelledby="details-title"
      aria-live="polite"
    >
      <header>
        <h2 id="details-title">Selected slice</h2>
        {slicePath && (
          <span class="end">
            <button type="button" onClick={() => choose(null)}>
              Close
            </button>
          </span>
        )}
      </header>
      {slicePath ? (
        <Details key={formatSlicePath(slicePath)} />
      ) : (
        <Notice state="empty">
          Click a slice to show its name, duration, step, phase, module and device.
        </Notice>
      )}
    </section>
  );
}

function Details(): JSX.Element {
  const slicePath = chosen.peek()!;
  const slice = useResource((signal) => loadSlice(slicePath, signal), always);
  return <Waiting resource={slice.value}>{(details) => <SliceFacts slice={details} />}</Waiting>;
}

function SliceFacts({ slice }: { slice: SliceDetails }): JSX.Element {
  const facts: [string, string | null][] = [
    ["Duration", formatDuration(slice.seconds)],
    ["Start", exactTime(slice.start)],
    ["Kind", phaseName(slice.category)],
    ["Step", slice.step === null ? null : String(slice.step)],
    ["Phase", slice.phase === null ? null : phaseName(slice.phase)],
    ["Module", slice.module || null],
    ["Track", slice.track],
    ["Worker", `${slice.worker} on ${slice.node || "an unknown node"}`],
    ["Device", slice.device || null],
    ["Launched by", slice.launched_by],
    ["Launch latency", slice.launch_seconds === null ? null : formatDuration(slice.launch_seconds)],
    ...Object.entries(slice.detail).map(([name, value]): [string, string] => [
      phaseName(name),
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  ];
  const show = (): void => {
    const margin = slice.seconds;
    setView([slice.start - margin, slice.start + slice.seconds + margin]);
  };
  return (
    <>
      <p class="slice-name">{slice.name}</p>
      <dl class="slice-facts">
        {facts
          .filter(([, value]) => value !== null && value !== "")
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <p class="buttons">
        <button type="button" onClick={show}>
          Zoom to slice
        </button>
        <button
          type="button"
          onClick={() => setSelection([slice.start, slice.start + slice.seconds])}
        >
          Select time range
        </button>
        <button type="button" onClick={() => setFind(slice.name)}>
          Find all with this name
        </button>
      </p>
    </>
  );
}
