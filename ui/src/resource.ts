// Data of a view: asked for when what it depends on changes, and only while the view is on the screen.

import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { returns } from "./live";

/** While `state` is loading, `value` may still hold what was shown before. */
export type Resource<T> = { state: "loading" | "ready" | "error"; value: T | null; error: string };

type Load<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Runs `load` now and whenever a signal that it reads before its first await changes; the answer to an
 * older question never replaces a newer one. `isWanted` holds the questions back (off-screen, paused).
 */
export function loadWhile<T>(
  load: Load<T>,
  isWanted: ReadonlySignal<boolean>,
  into: Signal<Resource<T>>,
): () => void {
  return effect(() => {
    if (!isWanted.value) return;
    void returns.value;
    const abort = new AbortController();
    const before = into.peek();
    if (before.state !== "ready") into.value = { ...before, state: "loading" };
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) into.value = { state: "ready", value, error: "" };
      },
      (error: unknown) => {
        if (!abort.signal.aborted)
          into.value = {
            state: "error",
            value: into.peek().value,
            error: error instanceof Error ? error.message : String(error),
          };
      },
    );
    return () => abort.abort();
  });
}

/** A resource for as long as the component lives; `keys` are plain values that `load` closes over. */
export function useResource<T>(
  load: Load<T>,
  isWanted: ReadonlySignal<boolean>,
  keys: readonly unknown[] = [],
): ReadonlySignal<Resource<T>> {
  const into = useMemo(() => signal<Resource<T>>({ state: "loading", value: null, error: "" }), []);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => loadWhile((abort) => latest.current(abort), isWanted, into), keys);
  return into;
}

export const always: ReadonlySignal<boolean> = signal(true);

/** Whether an element is on or near the screen. */
export function useVisible(element: RefObject<Element | null>): ReadonlySignal<boolean> {
  const isVisible = useMemo(() => signal(false), []);
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver(
      (entries) => (isVisible.value = entries.some((entry) => entry.isIntersecting)),
      { rootMargin: "1000px" },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return isVisible;
}

/** The width of an element in whole pixels; 0 until it is known. */
export function useWidth(element: RefObject<Element | null>): ReadonlySignal<number> {
  const width = useMemo(() => signal(0), []);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(
      (entries) => (width.value = Math.round(entries[0]!.contentRect.width)),
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}
