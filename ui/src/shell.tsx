// The frame around every page: header, status, tabs, findings and notices.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { getJson, type JobDocument, jobPath } from "./api";
import { bundle } from "./bundle";
import { BundleNote } from "./bundle_note";
import { HeaderControls } from "./controls";
import { Toast } from "./controls/toast";
import { FindingsStrip } from "./findings_strip";
import { formatAgo, formatDuration, formatElapsed } from "./format";
import { HeadlineStrip } from "./headline_strip";
import { connection, follow, isPaused, lastUpdate, setPaused, unfollow } from "./live";
import { pages } from "./pages";
import type { Resource } from "./resource";
import { linkTo, route } from "./router";
import {
  isLive,
  isOpened,
  job,
  localZone,
  showJob,
  type Theme,
  theme,
  timeStyle,
  zone,
} from "./state";
import { StateChip } from "./state_chip";
import { Notice } from "./states";
import { TimeBar } from "./time_bar";

const loaded = signal<Resource<JobDocument>>({ state: "loading", value: null, error: "" });
const now = signal(Date.now() / 1000);

/** Loads the job in the URL and subscribes to its updates. */
function followAddress(): () => void {
  const abort = { current: new AbortController() };
  let shown = "";
  return effect(() => {
    const name = route.value.job;
    if (name === shown) return;
    shown = name;
    abort.current.abort();
    abort.current = new AbortController();
    unfollow();
    loaded.value = { state: "loading", value: null, error: "" };
    if (name) void load(name, abort.current.signal);
  });
}

async function load(name: string, signal: AbortSignal): Promise<void> {
  try {
    const document = await getJson<JobDocument>(jobPath(name), {}, signal);
    showJob(document);
    loaded.value = { state: "ready", value: document, error: "" };
    follow(name);
  } catch (error) {
    if (!signal.aborted)
      loaded.value = {
        state: "error",
        value: null,
        error: error instanceof Error ? error.message : String(error),
      };
  }
}

export function Shell(): JSX.Element {
  useEffect(followAddress, []);
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  const { page, job: name } = route.value;
  const shown = pages[page];
  useEffect(() => {
    document.title = name
      ? `${name} · ${shown?.title ?? page} · Sonde`
      : `Sonde · ${shown?.title ?? page}`;
  }, [name, page]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <Top />
      {bundle && <BundleNote bundle={bundle} />}
      {isOpened.value && <HeadlineStrip />}
      {isOpened.value && page !== "overview" && <FindingsStrip />}
      {isOpened.value && shown && ["nodes", "timeline", "logs"].includes(page) && <TimeBar />}
      <LostConnection />
      <main id="main" tabIndex={-1} data-page={page}>
        <Body />
      </main>
      <Toast />
    </>
  );
}

function Body(): JSX.Element {
  const { page, job: name } = route.value;
  const shown = pages[page];
  if (!shown || shown.ofJob !== Boolean(name)) {
    return (
      <Notice state="error">
        Page “{page}” does not exist. <a href="#/">Show all jobs</a>
      </Notice>
    );
  }
  if (name && loaded.value.state === "error")
    return (
      <Notice state="error">
        {loaded.value.error} <a href="#/">Show all jobs</a>
      </Notice>
    );
  if (name && !isOpened.value) return <Notice state="loading">Opening {name}…</Notice>;
  const Component = shown.component;
  return <Component key={`${page}/${name}`} />;
}

function Top(): JSX.Element {
  const { job: name, page } = route.value;
  return (
    <header class="top">
      <div class="where">
        <div class="crumb">
          {bundle ? "Sonde" : <a href="#/">Sonde</a>}
          {name && !bundle ? (
            <>
              {" "}
              / <a href="#/">jobs</a>
            </>
          ) : null}
        </div>
        <Preferences />
      </div>
      <div class="what">
        <h1>
          {name || pages[page]?.title || "Sonde"} {isOpened.value && <StatusLine />}
        </h1>
        {name && loaded.value.state !== "error" && <Tabs />}
        {isOpened.value && (
          <div class="acts">
            <HeaderControls />
          </div>
        )}
      </div>
    </header>
  );
}

/** The present; the time of the last update while paused. */
const shownNow = (): number => (isPaused.value ? (lastUpdate.value ?? now.value) : now.value);

/** The state of the job, its duration and the age of the last update. */
function StatusLine(): JSX.Element | null {
  const document = job.value;
  if (!document) return null;
  const running = isLive.value;
  const recorded = document.duration_seconds;
  const seconds = running ? Math.max(recorded ?? 0, shownNow() - document.t0) : recorded;
  return (
    <span class="facts">
      <StateChip state={document.state} />
      <span class="fact">
        {running ? formatElapsed(Math.floor(seconds ?? 0)) : formatDuration(seconds)}
      </span>
      {running && <LiveState />}
    </span>
  );
}

function LiveState(): JSX.Element {
  const age = lastUpdate.value === null ? null : Math.max(0, now.value - lastUpdate.value);
  const label = {
    none: "",
    connecting: "connecting…",
    live: "live",
    lost: "connection lost",
    paused: "paused",
    ended: "",
  }[connection.value];
  return (
    <>
      <span class={`fact live ${connection.value}`} title="Live updates of this job">
        {label}
        {age !== null && age >= 3 && connection.value !== "connecting"
          ? ` · updated ${formatAgo(age)}`
          : ""}
      </span>
      <button
        type="button"
        class="quiet"
        aria-pressed={isPaused.value}
        onClick={() => setPaused(!isPaused.value)}
      >
        {isPaused.value ? "Resume" : "Pause"}
      </button>
    </>
  );
}

function Tabs(): JSX.Element {
  return (
    <nav aria-label="Pages of this job">
      {Object.entries(pages)
        .filter(([, page]) => page.ofJob && !page.isHidden)
        .map(([key, page]) => (
          <a
            key={key}
            href={linkTo(key)}
            aria-current={route.value.page === key ? "page" : undefined}
          >
            {page.title}
          </a>
        ))}
    </nav>
  );
}

function LostConnection(): JSX.Element | null {
  if (connection.value !== "lost") return null;
  return (
    <div class="lost" role="status" data-state="lost">
      Connection to the server lost. Reconnecting… The data shown may be out of date.
    </div>
  );
}

/** Theme and time format. */
function Preferences(): JSX.Element {
  const times = [
    ["elapsed", "time since start"],
    ["local", localZone()],
    ["utc", "UTC"],
  ] as const;
  const current =
    timeStyle.value === "elapsed" ? "elapsed" : zone.value === "UTC" ? "utc" : "local";
  const setTime = (value: string): void => {
    timeStyle.value = value === "elapsed" ? "elapsed" : "clock";
    if (value !== "elapsed") zone.value = value === "utc" ? "UTC" : localZone();
  };
  return (
    <div class="preferences">
      <label class="choice">
        <span class="visually-hidden">Time format</span>
        <select value={current} onChange={(event) => setTime(event.currentTarget.value)}>
          {times
            .filter(([key], i) => key !== "local" || times[i]![1] !== "UTC")
            .map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
        </select>
      </label>
      <label class="choice">
        <span class="visually-hidden">Theme</span>
        <select
          value={theme.value}
          onChange={(event) => (theme.value = event.currentTarget.value as Theme)}
        >
          <option value="system">system theme</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </label>
    </div>
  );
}
