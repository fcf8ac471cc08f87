// The Timeline page: nodes and workers on one clock, and the Python profile.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { address, jobPath } from "../api";
import { bundle } from "../bundle";
import { FindingsTrack } from "../findings_track";
import { formatDuration } from "../format";
import { coarsePixels } from "../nodes/source";
import { useResource, useVisible, useWidth } from "../resource";
import { isFullView, job, requestedView, view } from "../state";
import { Notice, Waiting } from "../states";
import { TimeAxis } from "../time_axis";
import { DetailsCard } from "../timeline/details";
import { FlameCard } from "../timeline/flame_card";
import { MachineChart } from "../timeline/machine";
import { ProfiledWindows, useOpeningWindow } from "../timeline/profiled";
import { SearchBox } from "../timeline/search";
import { loadTrace, type TraceWindow } from "../timeline/source";
import { dragMode, shownRanks, shownWorkers } from "../timeline/state";
import "../timeline/timeline.css";
import { TotalsCard } from "../timeline/totals";
import { WorkerPicker } from "../timeline/workers";
import { WorkerTrace } from "../views/trace";

export function TimelinePage(): JSX.Element {
  const box = useRef<HTMLElement>(null);
  const isVisible = useVisible(box);
  const width = useWidth(box);
  const pixels = coarsePixels(width);
  const isReady = useComputed(() => isVisible.value && width.value > 0);
  const trace = useResource(
    (signal) => loadTrace(requestedView.value, shownWorkers.value, pixels.value, signal),
    isReady,
  );
  const data = useComputed(() => trace.value.value);
  useOpeningWindow(data);
  const titles = useComputed(() => [
    ...new Set(
      (data.value?.workers ?? []).flatMap((worker) => worker.tracks.map((track) => track.title)),
    ),
  ]);
  // reload when a new profile arrives
  const profileCount = useComputed(
    () => (data.value?.profiled ?? []).filter((window) => window.kind === "python").length,
  );
  return (
    <>
      <section
        class="card flush trace"
        ref={box}
        data-chart="timeline"
        data-state={trace.value.state}
        aria-labelledby="timeline-title"
      >
        <div class="chart-head">
          <h2 id="timeline-title">Timeline</h2>
          <Clock data={data} />
          {!bundle && <SearchBox />}
          <span class="end">
            <WorkerPicker />
            <DragChoice />
            {!bundle && <Download />}
          </span>
        </div>
        <ProfiledWindows data={data} />
        <FindingsTrack />
        <Waiting resource={trace.value}>{() => <Tracks data={data} />}</Waiting>
      </section>
      <div class="trace-below">
        <TotalsCard tracks={titles.value} />
        {!bundle && <DetailsCard />}
      </div>
      <FlameCard profileCount={profileCount} />
    </>
  );
}

function Tracks({ data }: { data: ReadonlySignal<TraceWindow | null> }): JSX.Element {
  const workers = data.value?.workers ?? [];
  const nodes = [
    ...new Set([
      ...workers.map((worker) => worker.node),
      ...(data.value?.counters ?? []).map((counter) => counter.node),
    ]),
  ];
  if (!workers.length && !data.value?.counters.length)
    return <Notice state="empty">No events recorded yet.</Notice>;
  return (
    <>
      {nodes.map((node) => (
        <div key={node}>
          <MachineChart node={node} data={data} />
          {workers
            .filter((tracks) => tracks.node === node)
            .map(({ worker, tracks }) => (
              <div key={worker}>
                <div class="chart-head">
                  <h2>Worker {worker}</h2>
                  <span class="sub">
                    {node}
                    {tracks.length ? "" : " · no events recorded"}
                  </span>
                </div>
                <WorkerTrace worker={worker} data={data} />
              </div>
            ))}
        </div>
      ))}
      <TimeAxis name="timeline-axis" />
      <HowToRecord
        titles={workers.flatMap((worker) => worker.tracks.map((track) => track.title))}
      />
    </>
  );
}

/** The command that records missing profiles. */
function HowToRecord({ titles }: { titles: readonly string[] }): JSX.Element | null {
  const name = job.value?.job ?? "JOB";
  const has = job.value?.has ?? {};
  const missing: [string, string][] = [];
  if (!titles.some((title) => /thread|stream/.test(title)))
    missing.push(["operators and kernels", "operators"]);
  if (!has.python && !titles.some((title) => title.startsWith("python")))
    missing.push(["Python", "python"]);
  if (shownRanks.value.length > 1 && !titles.some((title) => title.startsWith("collectives")))
    missing.push(["collectives", "distributed"]);
  if (!missing.length) return null;
  return (
    <p class="how sub">
      Not recorded: {missing.map(([what]) => what).join(", ")}. To record a running job, use{" "}
      <code>
        sonde profile {name} --kinds {missing.map(([, kind]) => kind).join(",")}
      </code>
    </p>
  );
}

function Clock({ data }: { data: ReadonlySignal<TraceWindow | null> }): JSX.Element | null {
  const nodes = new Set((data.value?.workers ?? []).map((worker) => worker.node));
  if (nodes.size < 2) return null;
  const error = data.value?.clockError ?? null;
  return (
    <span class="sub">
      Clocks of {nodes.size} nodes aligned,{" "}
      {error === null ? "error unknown" : `error ±${formatDuration(error)}`}
    </span>
  );
}

function DragChoice(): JSX.Element {
  const current = dragMode.value;
  return (
    <span class="drag" role="group" aria-label="Drag mode">
      <span class="sub">Drag:</span>
      <button
        type="button"
        aria-pressed={current === "select"}
        onClick={() => (dragMode.value = "select")}
      >
        select
      </button>
      <button
        type="button"
        aria-pressed={current === "zoom"}
        onClick={() => (dragMode.value = "zoom")}
      >
        zoom
      </button>
    </span>
  );
}

/** A download of the visible window as a Perfetto trace. */
function Download(): JSX.Element {
  const [start, end] = view.value;
  const window = isFullView.value ? {} : { start, end };
  const worker = shownRanks.value.length === 1 ? { worker: shownRanks.value[0] } : {};
  const url = address(jobPath(job.value?.job ?? "", "export"), {
    format: "chrome-trace",
    ...window,
    ...worker,
  });
  return (
    <a
      class="button"
      href={url}
      download
      title="Trace of the visible window for ui.perfetto.dev or chrome://tracing"
    >
      Download trace for Perfetto
    </a>
  );
}
