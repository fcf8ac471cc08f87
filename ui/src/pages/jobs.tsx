// The Jobs page: all jobs of the store, with search, sorting, comparison and deletion.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JobRow } from "../api";
import { formatCount, pluralize } from "../format";
import { JobsSource } from "../jobs_source";
import { linkTo, route, setParameters } from "../router";
import { steppedTop, visibleRows } from "../scrolling";
import { STATES } from "../state_chip";
import { Notice } from "../states";
import { toggled } from "../views/legend";
import { AnnotateDialog } from "./annotate_job";
import { DeleteJobsDialog } from "./delete_jobs";
import { JobLine } from "./job_line";
import { COLUMNS, JobsHead } from "./jobs_head";
import { SavedFilters } from "./saved_filters";
import "./pages.css";

const ROW = 44;
const REFRESH_MS = 3000;
const SEARCH_REFRESH_MS = 700; // while the server is still reading jobs
const SCROLL_DEBOUNCE_MS = 80; // do not load rows that only scroll past

export function JobsPage() {
  const { search = "", state = "", sort = "-start" } = route.value.parameters;
  const chosen = new Set((route.value.parameters.chosen ?? "").split(",").filter(Boolean));
  const setChosen = (names: ReadonlySet<string>): void =>
    setParameters({ chosen: [...names].join(",") });
  const [namesToDelete, setNamesToDelete] = useState<readonly string[]>([]);
  const [jobToAnnotate, setJobToAnnotate] = useState<JobRow | null>(null);
  const source = useMemo(() => new JobsSource({ search, state, sort }), [search, state, sort]);
  return (
    <div class="jobs-page">
      <div class="jobs-tools">
        <span class="sub store" title={source.store.value}>
          <span role="status">
            {jobCount(source.total.value)}
            {isFiltered(search, state, sort) && unreadText(source.unread.value)}
          </span>{" "}
          {source.store.value && `in ${source.store.value}`}
        </span>
        <SearchField value={search} />
        <label class="control">
          State{" "}
          <select
            value={state}
            onChange={(event) => setParameters({ state: event.currentTarget.value })}
          >
            <option value="">all</option>
            {STATES.map((option) => (
              <option key={option} value={option}>
                {option}
              </option>
            ))}
          </select>
        </label>
        <SavedFilters />
        <ChosenActions
          chosen={chosen}
          onClear={() => setChosen(new Set())}
          onDelete={() => setNamesToDelete([...chosen])}
        />
      </div>
      <JobsTable
        source={source}
        sort={sort}
        chosen={chosen}
        onChoose={(name) => setChosen(toggled(chosen, name))}
        onDelete={(row) => setNamesToDelete([row.name])}
        onAnnotate={setJobToAnnotate}
      />
      {namesToDelete.length > 0 && (
        <DeleteJobsDialog
          names={namesToDelete}
          onClose={() => setNamesToDelete([])}
          onDeleted={(deleted) => {
            setNamesToDelete([]);
            setChosen(new Set([...chosen].filter((name) => !deleted.includes(name))));
            source.reload();
          }}
        />
      )}
      {jobToAnnotate && (
        <AnnotateDialog
          row={jobToAnnotate}
          onClose={() => setJobToAnnotate(null)}
          onSaved={() => {
            setJobToAnnotate(null);
            source.reload();
          }}
        />
      )}
    </div>
  );
}

/** Whether the list depends on the contents of jobs, not only on their names and start times. */
function isFiltered(search: string, state: string, sort: string): boolean {
  return Boolean(search || state) || !["start", "name"].includes(sort.replace("-", ""));
}

function unreadText(unread: number): string {
  return unread ? `, ${formatCount(unread)} not read yet` : "";
}

function jobCount(total: number | null): string {
  return total === null ? "" : pluralize(total, "job");
}

function SearchField({ value }: { value: string }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const change = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setParameters({ search: text }), 200);
  };
  return (
    <input
      type="search"
      class="search"
      placeholder="Search, or host:gpu-* loss<0.5"
      aria-label="Search jobs"
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
}

type ChosenProps = { chosen: ReadonlySet<string>; onClear: () => void; onDelete: () => void };

function ChosenActions({ chosen, onClear, onDelete }: ChosenProps) {
  if (chosen.size === 0) return <span class="sub push">Select jobs to compare or delete.</span>;
  return (
    <span class="push compare-choice">
      <span role="status">{chosen.size} selected</span>
      <button type="button" class="quiet" onClick={onClear}>
        Clear
      </button>
      <button type="button" class="danger" onClick={onDelete}>
        Delete
      </button>
      {chosen.size > 1 ? (
        <a class="button primary" href={linkTo("compare", "", { jobs: [...chosen].join(",") })}>
          Compare
        </a>
      ) : (
        <button type="button" disabled>
          Compare
        </button>
      )}
    </span>
  );
}

type TableProps = {
  source: JobsSource;
  sort: string;
  chosen: ReadonlySet<string>;
  onChoose: (name: string) => void;
  onDelete: (row: JobRow) => void;
  onAnnotate: (row: JobRow) => void;
};

function JobsTable({ source, sort, chosen, onChoose, onDelete, onAnnotate }: TableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  const { search = "", state = "" } = route.value.parameters;
  const total = source.total.value ?? 0;
  const rows = visibleRows(top, height, ROW, total);
  useEffect(() => {
    const observer = new ResizeObserver((entries) =>
      setHeight(entries[0]?.contentRect.height ?? 800),
    );
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    setTop(0);
    box.current?.scrollTo({ top: 0 });
  }, [source]);
  useEffect(() => {
    const timer = setTimeout(
      () => void source.showRows(rows.first, rows.end || 1),
      source.total.peek() === null ? 0 : SCROLL_DEBOUNCE_MS,
    );
    return () => clearTimeout(timer);
  }, [source, rows.first, rows.end]);
  const isSearching = source.unread.value > 0 && isFiltered(search, state, sort);
  useEffect(() => {
    const timer = setInterval(
      () => document.hidden || source.reload(),
      isSearching ? SEARCH_REFRESH_MS : REFRESH_MS,
    );
    return () => clearInterval(timer);
  }, [source, isSearching]);
  if (source.error.value) return <Notice state="error">{source.error.value}</Notice>;
  if (source.total.value === null) return <Notice state="loading">Loading…</Notice>;
  if (total === 0)
    return isSearching ? (
      <Notice state="loading">No matches so far{unreadText(source.unread.value)}…</Notice>
    ) : (
      <NoJobs />
    );
  return (
    <div
      class="jobs-box"
      ref={box}
      onScroll={(event) => setTop(steppedTop(event.currentTarget.scrollTop, ROW))}
      data-state="ready"
      data-chart="jobs"
    >
      <table class="jobs" aria-rowcount={total + 1}>
        <JobsHead sort={sort} />
        <tbody>
          <Spacer height={rows.first * ROW} />
          {source.rows(rows.first, rows.end).map((row, index) => (
            <JobLine
              key={row?.name ?? rows.first + index}
              row={row}
              number={rows.first + index + 2}
              isChosen={row !== null && chosen.has(row.name)}
              onChoose={onChoose}
              onDelete={onDelete}
              onAnnotate={onAnnotate}
            />
          ))}
          <Spacer height={(total - rows.end) * ROW} />
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" class="spacer">
      <td colSpan={COLUMNS.length} style={{ height: `${height}px` }} />
    </tr>
  );
}

function NoJobs() {
  const { search, state } = route.value.parameters;
  if (search || state) return <Notice state="empty">No matching jobs.</Notice>;
  return (
    <Notice state="empty">
      No jobs in this store yet. Start one with <code>sonde run -- python train.py</code>, or try{" "}
      <code>sonde demo</code>.
    </Notice>
  );
}
