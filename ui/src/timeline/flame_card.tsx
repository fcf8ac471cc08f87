// Where Python spent its time: a flame graph for any steps, mode, phase and thread, and its functions.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { address, jobPath } from "../api";
import { phaseName } from "../colors";
import { formatCount, formatDuration, formatPercent } from "../format";
import { always, useResource } from "../resource";
import { route, setParameters } from "../router";
import { job } from "../state";
import { Notice, Waiting } from "../states";
import { FlameGraph, ownerColor } from "../views/flame";
import { frameOfPath, framePath, ownerOf } from "./flame_layout";
import { type FlameData, type FlameQuestion, type FunctionRow, loadFlame } from "./flame_source";
import { type PickColumn, PickTable } from "./pick_table";

const KEYS = ["steps", "mode", "phase", "thread", "profiler", "worker"] as const;

/** The question as the address says it. */
function asked(): FlameQuestion {
  const { parameters } = route.value;
  const found = Object.fromEntries(
    KEYS.map((key) => [key, parameters[key === "worker" ? "flame_worker" : key] ?? ""]),
  );
  return found as FlameQuestion;
}

export function FlameCard({ looks }: { looks: ReadonlySignal<number> }): JSX.Element {
  const question = useComputed(() => JSON.stringify(asked()));
  const flame = useResource((signal) => {
    void looks.value;
    return loadFlame(JSON.parse(question.value) as FlameQuestion, signal);
  }, always);
  return (
    <section
      class="card"
      data-chart="python"
      data-state={flame.value.state}
      aria-labelledby="python-title"
    >
      <header>
        <h2 id="python-title">Where Python spent its time</h2>
        {flame.value.value && <Said data={flame.value.value} />}
        {Boolean(flame.value.value?.windows.length) && (
          <span class="end">
            <a
              class="button"
              download
              href={address(jobPath(job.value?.job ?? "", "export"), { format: "speedscope" })}
            >
              Download for speedscope
            </a>
          </span>
        )}
      </header>
      <Waiting resource={flame.value}>
        {(data) => (data.windows.length ? <Profile data={data} /> : <Nothing />)}
      </Waiting>
    </section>
  );
}

function Nothing(): JSX.Element {
  return (
    <Notice state="empty">
      No profile of Python has been recorded. While the job runs:{" "}
      <code>sonde profile {job.value?.job} --kinds python</code>; from its start:{" "}
      <code>sonde run --profile python:start_step=5,num_steps=10 …</code>
    </Notice>
  );
}

function Said({ data }: { data: FlameData }): JSX.Element {
  const steps = data.choices.steps;
  const windows = data.windows.filter((one) => one.profiler === data.profiler);
  const timers = [...new Set(windows.map((one) => one.timer.replace("_", " ")))].join(", ");
  return (
    <span class="sub">
      {data.profiler
        ? `${data.profiler}, ${timers} time, ${windows.length} window${windows.length === 1 ? "" : "s"}`
        : ""}
      {steps.length ? `, steps ${steps[0]}–${steps[steps.length - 1]}` : ""}
      {windows.some((one) => one.is_cut) ? "; there was more than is kept" : ""}
    </span>
  );
}

function Profile({ data }: { data: FlameData }): JSX.Element {
  const { flame_find: find = "", frame = "" } = route.value.parameters;
  const zoom = frameOfPath(data.tree, frame);
  const setZoom = (next: number): void =>
    setParameters({ frame: next < 0 ? null : framePath(data.tree, next) });
  const owners = [...new Set(data.tree.files.map(ownerOf))].slice(0, 10);
  return (
    <>
      <Controls data={data} find={find} isZoomed={zoom >= 0} onReset={() => setZoom(-1)} />
      {data.tree.names.length ? (
        <>
          <FlameGraph
            name="flame"
            tree={data.tree}
            lines={data.lines}
            counted={data.counted}
            find={find}
            zoom={zoom}
            onZoom={setZoom}
          />
          <p class="legend-line">
            {owners.map((owner) => (
              <span key={owner}>
                <i class="swatch" style={{ background: `var(${ownerColor(owner)})` }} />
                {owner}
              </span>
            ))}
          </p>
          <h3 class="small-head">Functions</h3>
          <PickTable
            label="Functions by the time they took"
            rows={data.table}
            columns={columnsFor(data.counted)}
            onPick={(row) => setParameters({ flame_find: find === row.name ? null : row.name })}
            isPicked={(row) => find !== "" && row.name === find}
          />
        </>
      ) : (
        <Notice state="empty">Nothing was seen in these steps, mode and phase.</Notice>
      )}
    </>
  );
}

function columnsFor(counted: string): PickColumn<FunctionRow>[] {
  return [
    { title: "Function", value: (row) => row.name },
    {
      title: "Where",
      value: (row) => row.where,
      show: (row) => <span title={row.where}>{row.where.split("/").slice(-2).join("/")}</span>,
    },
    {
      title: "Self",
      isNumber: true,
      value: (row) => row.self_seconds,
      show: (row) => formatDuration(row.self_seconds),
    },
    {
      title: "Self %",
      isNumber: true,
      value: (row) => row.self_percent,
      show: (row) => formatPercent(row.self_percent),
    },
    {
      title: "Total",
      isNumber: true,
      value: (row) => row.total_seconds,
      show: (row) => formatDuration(row.total_seconds),
    },
    {
      title: "Total %",
      isNumber: true,
      value: (row) => row.total_percent,
      show: (row) => formatPercent(row.total_percent),
    },
    {
      title: counted === "calls" ? "Calls" : "Looks",
      isNumber: true,
      value: (row) => row.count,
      show: (row) => formatCount(row.count),
    },
  ];
}

function Controls({
  data,
  find,
  isZoomed,
  onReset,
}: {
  data: FlameData;
  find: string;
  isZoomed: boolean;
  onReset: () => void;
}): JSX.Element {
  const { choices } = data;
  const range = choices.steps.length
    ? `${choices.steps[0]}–${choices.steps[choices.steps.length - 1]}`
    : "";
  return (
    <div class="flame-controls" role="group" aria-label="What of the profile is shown">
      <label class="choice">
        Steps{" "}
        <input
          type="text"
          placeholder={range || "all"}
          title="Such as 10-20; empty is all"
          value={route.value.parameters.steps ?? ""}
          onChange={(event) =>
            setParameters({ steps: event.currentTarget.value || null, frame: null })
          }
        />
      </label>
      <Choice name="mode" title="Mode" options={choices.modes} />
      <Choice name="phase" title="Phase" options={choices.phases} />
      <Choice
        name="thread"
        title="Thread"
        options={["*", ...choices.threads]}
        usual={choices.threads[0] ?? "training"}
        words={(one) => (one === "*" ? "all" : one)}
      />
      <Choice name="profiler" title="Profiler" options={choices.profilers} usual="last" />
      <Choice name="flame_worker" title="Worker" options={choices.workers.map(String)} />
      <input
        type="search"
        aria-label="Find functions"
        placeholder="Find functions"
        value={find}
        onInput={(event) => setParameters({ flame_find: event.currentTarget.value || null })}
      />
      {isZoomed && (
        <button type="button" onClick={onReset}>
          Show all
        </button>
      )}
    </div>
  );
}

function Choice({
  name,
  title,
  options,
  usual = "all",
  words = phaseName,
}: {
  name: string;
  title: string;
  options: readonly string[];
  usual?: string;
  words?: (one: string) => string;
}): JSX.Element | null {
  if (options.length < 2) return null;
  return (
    <label class="choice">
      {title}{" "}
      <select
        value={route.value.parameters[name] ?? ""}
        onChange={(event) =>
          setParameters({ [name]: event.currentTarget.value || null, frame: null })
        }
      >
        <option value="">{usual}</option>
        {options
          .filter((one) => one !== usual)
          .map((one) => (
            <option key={one} value={one}>
              {words(one)}
            </option>
          ))}
      </select>
    </label>
  );
}
