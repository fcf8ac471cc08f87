// Data of a view: reloaded when its dependencies change, while the view is visible.

import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { reconnects } from "./live";

/** While `state` is loading, `value` can still hold the previous data. */
export type Resource<T> = { state: "loading" | "ready" | "error"; value: T | null; error: string };

type Load<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Runs `load` now and whenever a signal that it reads before its first await changes. A newer request
 * supersedes older ones. `isEnabled` suspends loading (off-screen, paused).
 */
export function loadWhile<T>(
  load: Load<T>,
  isEnabled: ReadonlySignal<boolean>,
  into: Signal<Resource<T>>,
): () => void {
  return effect(() => {
    if (!isEnabled.value) return;
    void reconnects.value;
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

/** A resource for the lifetime of the component; `keys` are plain values that `load` closes over. */
export function useResource<T>(
  load: Load<T>,
  isEnabled: ReadonlySignal<boolean>,
  keys: readonly unknown[] = [],
): ReadonlySignal<Resource<T>> {
  const into = useMemo(() => signal<Resource<T>>({ state: "loading", value: null, error: "" }), []);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => loadWhile((abort) => latest.current(abort), isEnabled, into), keys);
  return into;
}

export const always: ReadonlySignal<boolean> = signal(true);

/** Whether an element is in or near the viewport. */
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

/** The width of an element in pixels; 0 until measured. */
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
