// A chart of the server by its name: asked for when it is in sight, and again when there is news.

import { computed, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { getJson, jobPath } from "../api";
import { useResource, useVisible } from "../resource";
import { slowNews } from "../slow_news";
import type { Spec } from "../specs";
import { Notice } from "../states";
import { SpecView } from "./spec";

export type ChartAnswer = { name: string; title: string; spec: Spec | null };

/** The last answer, and until when it is not asked again: what takes the server long is asked seldom. */
type Kept = { key: string; answer: ChartAnswer; due: number };

const REST = 10; // times as long as the answer took
const EMPTY_REST_MS = 12_000; // most of what has nothing to show never will

type Props = {
  job: string;
  name: string;
  title?: string;
  query?: Record<string, string | null>;
  /** What is said where nothing was measured; without it, nothing stands there at all. */
  empty?: string;
  className?: string;
  /** Changes what is drawn, such as its title or which rows it has. */
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
  // What has nothing to show takes no room, so it is never in sight: it is asked again all the same.
  const isWanted = useMemo(() => computed(() => isVisible.value || isHidden.value), []);
  const key = JSON.stringify([job, name, query]);
  const kept = useRef<Kept | null>(null);
  const load = async (abort: AbortSignal): Promise<ChartAnswer> => {
    void slowNews.value;
    const began = performance.now();
    if (kept.current?.key === key && began < kept.current.due) return kept.current.answer;
    const answer = await getJson<ChartAnswer>(jobPath(job, "charts", name), query, abort);
    const now = performance.now();
    const rest = answer.spec === null ? EMPTY_REST_MS : 0;
    kept.current = { key, answer, due: now + Math.max(rest, (now - began) * REST) };
    return answer;
  };
  const { state, value, error } = useResource(load, isWanted, [key]).value;
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
        />
      )}
    </div>
  );
}
