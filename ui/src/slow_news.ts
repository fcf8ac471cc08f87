// News for what is costly to ask again: a chart of the whole job is not drawn anew each second.

import { effect, signal, untracked } from "@preact/signals";
import { news } from "./live";

const PAUSE_MS = 5000;

/** Counts up when there was news, at most once in five seconds. */
export const slowNews = signal(0);

let timer: ReturnType<typeof setTimeout> | undefined;

effect(() => {
  const heard = news.samples.value + news.steps.value + news.status.value + news.findings.value;
  if (heard === 0 || timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    untracked(() => (slowNews.value += 1));
  }, PAUSE_MS);
});
