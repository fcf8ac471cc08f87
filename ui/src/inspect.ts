// The state of the page and the data of its charts, for tests and debugging: window.__sonde.

import { connection } from "./live";
import { extent, hover, job, selection, shownTheme, view } from "./state";

const charts = new Map<string, () => unknown>();

/** Registers a function that returns the data of a chart; returns a function that unregisters it. */
export function exposeChart(name: string, read: () => unknown): () => void {
  charts.set(name, read);
  return () => {
    if (charts.get(name) === read) charts.delete(name);
  };
}

/** Exposes the state as window.__sonde. */
export function startInspection(): void {
  const state = {
    get view() {
      return view.peek();
    },
    get extent() {
      return extent.peek();
    },
    get selection() {
      return selection.peek();
    },
    get hover() {
      return hover.peek();
    },
    get theme() {
      return shownTheme.peek();
    },
    get connection() {
      return connection.peek();
    },
    get job() {
      return job.peek();
    },
    get names() {
      return [...charts.keys()];
    },
    chart: (name: string): unknown => charts.get(name)?.() ?? null,
  };
  Object.defineProperty(window, "__sonde", { value: state, configurable: true });
}
