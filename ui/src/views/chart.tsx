// A chart rendered from the server's spec: loaded when visible, reloaded after updates.

import { computed, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { getJson, jobPath } from "../api";
import { stepMarks } from "../finding_marks";
import type { Spec } from "../generated/chart_specs";
import { useResource, useVisible } from "../resource";
import { Notice } from "../states";
import { throttledUpdates } from "../throttled_updates";
import { SpecView } from "./spec";

export type ChartAnswer = { name: string; title: string; spec: Spec | null };

/** The last answer and when to reload it; charts that are slow to compute are reloaded less often. */
type CachedAnswer = { key: string; answer: ChartAnswer; due: number };

const PAUSE_FACTOR = 10; // pause relative to the response time
const EMPTY_PAUSE_MS = 12_000; // empty charts usually stay empty

type Props = {
  job: string;
  name: string;
  title?: string;
  query?: Record<string, string | null>;
  /** The text if there is no data; without it, an empty chart is hidden. */
  empty?: string;
  className?: string;
  /** Changes the spec before it is drawn. */
  adapt?: (spec: Spec) => Spec;
  more?: ComponentChildren;
};

export function Chart({
  job,
  name,
  title,
  query = {},
  empty,
  className = "card",
  adapt,
  more,
}: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const isVisible = useVisible(box);
  const isHidden = useMemo(() => signal(false), []);
  // Hidden charts are never visible to the observer, but must still be reloaded.
  const isEnabled = useMemo(() => computed(() => isVisible.value || isHidden.value), []);
  const key = JSON.stringify([job, name, query]);
  const cached = useRef<CachedAnswer | null>(null);
  const load = async (abort: AbortSignal): Promise<ChartAnswer> => {
    void throttledUpdates.value;
    const began = performance.now();
    if (cached.current?.key === key && began < cached.current.due) return cached.current.answer;
    const answer = await getJson<ChartAnswer>(jobPath(job, "charts", name), query, abort);
    const now = performance.now();
    const rest = answer.spec === null ? EMPTY_PAUSE_MS : 0;
    cached.current = { key, answer, due: now + Math.max(rest, (now - began) * PAUSE_FACTOR) };
    return answer;
  };
  const { state, value, error } = useResource(load, isEnabled, [key]).value;
  const isNothing = value !== null && value.spec === null && empty === undefined;
  useEffect(() => {
    isHidden.value = isNothing;
  }, [isNothing]);
  return (
    <div
      ref={box}
      class={className}
      hidden={isNothing}
      data-chart-name={name}
      data-state={value === null ? state : value.spec === null ? "empty" : "ready"}
    >
      {value === null && (
        <Notice state={state === "error" ? "error" : "loading"}>
          {state === "error" ? error : "Loading…"}
        </Notice>
      )}
      {value !== null && value.spec === null && empty && (
        <>
          <header>
            <h2>{title ?? value.title}</h2>
          </header>
          <p class="sub">{empty}</p>
        </>
      )}
      {value?.spec && (
        <SpecView
          spec={adapt ? adapt(value.spec) : value.spec}
          name={name}
          {...(title ? { title } : {})}
          more={more}
          marks={stepMarks(name)}
        />
      )}
    </div>
  );
}
