// Python profile: a flame graph filtered by steps, mode, phase and thread, and its functions.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { address, jobPath } from "../api";
import { bundle } from "../bundle";
import { phaseName } from "../colors";
import { formatCount, formatDuration, formatPercent, pluralize } from "../format";
import { always, useResource } from "../resource";
import { route, setParameters } from "../router";
import { job } from "../state";
import { Notice, Waiting } from "../states";
import { FlameGraph, ownerColor } from "../views/flame";
import { frameOfPath, framePath, ownerOf } from "./flame_layout";
import { type FlameData, type FlameQuery, type FunctionRow, loadFlame } from "./flame_source";
import { type PickColumn, PickTable } from "./pick_table";

const KEYS = ["steps", "mode", "phase", "thread", "profiler", "worker"] as const;

/** The filters in the URL. */
function addressQuery(): FlameQuery {
  const { parameters } = route.value;
  const query = Object.fromEntries(
    KEYS.map((key) => [key, parameters[key === "worker" ? "flame_worker" : key] ?? ""]),
  );
  return query as FlameQuery;
}

export function FlameCard({ profileCount }: { profileCount: ReadonlySignal<number> }): JSX.Element {
  const query = useComputed(() => JSON.stringify(addressQuery()));
  const flame = useResource((signal) => {
    void profileCount.value;
    return loadFlame(JSON.parse(query.value) as FlameQuery, signal);
  }, always);
  return (
    <section
      class="card"
      data-chart="python"
      data-state={flame.value.state}
      aria-labelledby="python-title"
    >
      <header>
        <h2 id="python-title">Python profile</h2>
        {flame.value.value && <ProfileCaption data={flame.value.value} />}
        {!bundle && Boolean(flame.value.value?.windows.length) && (
          <span class="end">
            <a
              class="button"
              download
              href={address(jobPath(job.value?.job ?? "", "export"), { format: "speedscope" })}
            >
              Download for Speedscope
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
      No Python profile recorded. To profile a running job, use{" "}
      <code>sonde profile {job.value?.job} --kinds python</code>. To profile from the start, use{" "}
      <code>sonde run --profile python:start_step=5,num_steps=10 …</code>
    </Notice>
  );
}

/** The first and the last step: 50, 50–60, or nothing. */
function stepRange(steps: readonly number[]): string {
  const [first, last] = [steps[0], steps.at(-1)];
  return first === undefined ? "" : first === last ? `${first}` : `${first}–${last}`;
}

function ProfileCaption({ data }: { data: FlameData }): JSX.Element {
  const steps = data.choices.steps;
  const windows = data.windows.filter((window) => window.profiler === data.profiler);
  const timers = [...new Set(windows.map((window) => window.timer.replace("_", " ")))].join(", ");
  return (
    <span class="sub">
      {data.profiler
        ? `${data.profiler}, ${timers} time, ${pluralize(windows.length, "window")}`
        : ""}
      {steps.length ? `, ${steps.length > 1 ? "steps" : "step"} ${stepRange(steps)}` : ""}
      {windows.some((window) => window.is_cut) ? " (truncated)" : ""}
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
            label="Functions by time"
            rows={data.table}
            columns={columnsFor(data.counted)}
            onPick={(row) => setParameters({ flame_find: find === row.name ? null : row.name })}
            isPicked={(row) => find !== "" && row.name === find}
          />
        </>
      ) : (
        <Notice state="empty">No samples match these steps, mode and phase.</Notice>
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
      title: counted === "calls" ? "Calls" : "Samples",
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
  const range = stepRange(choices.steps);
  return (
    <div class="flame-controls" role="group" aria-label="Profile filters">
      <label class="choice">
        Steps{" "}
        <input
          type="text"
          placeholder={range || "all"}
          title="A range such as 10-20; leave empty for all steps"
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
        placeholder={choices.threads[0] ?? "training"}
        format={(thread) => (thread === "*" ? "all" : thread)}
      />
      <Choice name="profiler" title="Profiler" options={choices.profilers} placeholder="last" />
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
  placeholder = "all",
  format = phaseName,
}: {
  name: string;
  title: string;
  options: readonly string[];
  placeholder?: string;
  format?: (option: string) => string;
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
        <option value="">{placeholder}</option>
        {options
          .filter((option) => option !== placeholder)
          .map((option) => (
            <option key={option} value={option}>
              {format(option)}
            </option>
          ))}
      </select>
    </label>
  );
}
