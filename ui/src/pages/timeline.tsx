// The page "Timeline": machines and workers on one clock, and where Python spent its time.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { address, jobPath } from "../api";
import { formatDuration } from "../format";
import { GUTTER, RIGHT } from "../gestures";
import { coarsePixels } from "../nodes/source";
import { useResource, useVisible, useWidth } from "../resource";
import { askedView, isWhole, job, view } from "../state";
import { Notice, Waiting } from "../states";
import { TimeAxis } from "../time_axis";
import { DetailsCard } from "../timeline/details";
import { FlameCard } from "../timeline/flame_card";
import { MachineChart } from "../timeline/machine";
import { ProfiledStretches } from "../timeline/profiled";
import { SearchBox } from "../timeline/search";
import { loadTrace, type TraceWindow } from "../timeline/source";
import { dragMeans, shownRanks, shownWorkers } from "../timeline/state";
import "../timeline/timeline.css";
import { TotalsCard } from "../timeline/totals";
import { WorkerPicker } from "../timeline/workers";
import { WorkerTrace } from "../views/trace";

export function TimelinePage(): JSX.Element {
  const box = useRef<HTMLElement>(null);
  const isVisible = useVisible(box);
  const width = useWidth(box);
  const pixels = coarsePixels(width, GUTTER + RIGHT);
  const isWanted = useComputed(() => isVisible.value && width.value > 0);
  const trace = useResource(
    (signal) => loadTrace(askedView.value, shownWorkers.value, pixels.value, signal),
    isWanted,
  );
  const data = useComputed(() => trace.value.value);
  const titles = useComputed(() => [
    ...new Set(
      (data.value?.workers ?? []).flatMap((one) => one.tracks.map((track) => track.title)),
    ),
  ]);
  // a profile that has come since is asked for
  const looks = useComputed(
    () => (data.value?.profiled ?? []).filter((one) => one.kind === "python").length,
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
          <SearchBox />
          <span class="end">
            <WorkerPicker />
            <DragChoice />
            <Download />
          </span>
        </div>
        <ProfiledStretches data={data} />
        <Waiting resource={trace.value}>{() => <Tracks data={data} />}</Waiting>
      </section>
      <div class="trace-below">
        <TotalsCard tracks={titles.value} />
        <DetailsCard />
      </div>
      <FlameCard looks={looks} />
    </>
  );
}

function Tracks({ data }: { data: ReadonlySignal<TraceWindow | null> }): JSX.Element {
  const workers = data.value?.workers ?? [];
  const nodes = [
    ...new Set([
      ...workers.map((one) => one.node),
      ...(data.value?.counters ?? []).map((one) => one.node),
    ]),
  ];
  if (!workers.length && !data.value?.counters.length)
    return <Notice state="empty">Nothing with a time has been recorded yet.</Notice>;
  return (
    <>
      {nodes.map((node) => (
        <div key={node}>
          <MachineChart node={node} data={data} />
          {workers
            .filter((one) => one.node === node)
            .map(({ worker, tracks }) => (
              <div key={worker}>
                <div class="chart-head">
                  <h2>Worker {worker}</h2>
                  <span class="sub">
                    {node}
                    {tracks.length ? "" : " · nothing was recorded of it"}
                  </span>
                </div>
                <WorkerTrace worker={worker} data={data} />
              </div>
            ))}
        </div>
      ))}
      <TimeAxis name="timeline-axis" />
      <HowToRecord titles={workers.flatMap((one) => one.tracks.map((track) => track.title))} />
    </>
  );
}

/** What is missing, and the command that records it. */
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
      Not recorded here: {missing.map(([what]) => what).join(", ")}. While a job runs:{" "}
      <code>
        sonde profile {name} --kinds {missing.map(([, kind]) => kind).join(",")}
      </code>
    </p>
  );
}

function Clock({ data }: { data: ReadonlySignal<TraceWindow | null> }): JSX.Element | null {
  const nodes = new Set((data.value?.workers ?? []).map((one) => one.node));
  if (nodes.size < 2) return null;
  const error = data.value?.clockError ?? null;
  return (
    <span class="sub">
      one clock for {nodes.size} nodes,{" "}
      {error === null ? "its error is not known" : `± ${formatDuration(error)}`}
    </span>
  );
}

function DragChoice(): JSX.Element {
  const means = dragMeans.value;
  return (
    <span class="drag" role="group" aria-label="What dragging does">
      <span class="sub">drag:</span>
      <button
        type="button"
        aria-pressed={means === "select"}
        onClick={() => (dragMeans.value = "select")}
      >
        select
      </button>
      <button
        type="button"
        aria-pressed={means === "zoom"}
        onClick={() => (dragMeans.value = "zoom")}
      >
        zoom
      </button>
    </span>
  );
}

/** The trace of what is shown, as Perfetto opens it. */
function Download(): JSX.Element {
  const [start, end] = view.value;
  const window = isWhole.value ? {} : { start, end };
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
      title="A trace of what is shown: open it at ui.perfetto.dev or chrome://tracing"
    >
      Download trace for Perfetto
    </a>
  );
}
