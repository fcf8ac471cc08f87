// What is drawn, for tests and for the curious: window.__sonde.

import { connection } from "./live";
import { extent, hover, job, selection, shownTheme, view } from "./state";

const charts = new Map<string, () => unknown>();

/** Says how to ask a chart for the data it draws; returns what takes it back. */
export function exposeChart(name: string, read: () => unknown): () => void {
  charts.set(name, read);
  return () => {
    if (charts.get(name) === read) charts.delete(name);
  };
}

/** Chart names by which questions can be asked now. */
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
