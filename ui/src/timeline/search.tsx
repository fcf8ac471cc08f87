// Search for slices by name, with navigation between hits.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { formatCount, pluralize } from "../format";
import { setView, view } from "../state";
import { firstHitFrom, nextHit, windowAround } from "./layout";
import { type Hits, loadHits } from "./source";
import { choose, find, setFind, shownWorkers } from "./state";

const WAIT_MS = 200;
const hits = signal<Hits | null>(null);
const current = signal(-1);

/** Loads the hits when the text or the workers change. */
function followSearch(): () => void {
  return effect(() => {
    const text = find.value.trim(),
      workers = shownWorkers.value;
    hits.value = null;
    current.value = -1;
    if (!text) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      loadHits(text, workers, abort.signal).then(
        (result) => (hits.value = result),
        () => undefined,
      );
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  });
}

export function goToHit(direction: 1 | -1): void {
  const result = hits.peek();
  if (!result?.hits.length) return;
  const starts = result.hits.map((hit) => hit.start);
  current.value =
    current.peek() < 0
      ? firstHitFrom(starts, view.peek()[0])
      : nextHit(starts, current.peek(), direction);
  const hit = result.hits[current.peek()]!;
  const around = windowAround(hit.start, hit.seconds, view.peek());
  if (around !== view.peek()) setView(around);
  choose({
    worker: hit.worker,
    track: hit.track,
    lane: hit.lane,
    at: Number((hit.start + hit.seconds / 2).toFixed(9)),
  });
}

export function SearchBox(): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  useEffect(followSearch, []);
  useEffect(() => {
    const onSlash = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.target !== document.body) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener("keydown", onSlash);
    return () => removeEventListener("keydown", onSlash);
  }, []);
  const result = hits.value;
  const status = !find.value
    ? ""
    : !result
      ? "…"
      : result.total === 0
        ? "No matches"
        : `${current.value < 0 ? "" : `${formatCount(current.value + 1)} of `}${pluralize(result.total, "match", "matches")}`;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter") goToHit(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") setFind("");
    else return;
    event.preventDefault();
  };
  return (
    <span class="find" role="search">
      <input
        ref={box}
        type="search"
        placeholder="Find slices by name ( / )"
        aria-label="Find slices by name"
        value={find.value}
        onInput={(event) => setFind(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <button
        type="button"
        aria-label="Previous match"
        disabled={!result?.total}
        onClick={() => goToHit(-1)}
      >
        ◀
      </button>
      <button
        type="button"
        aria-label="Next match"
        disabled={!result?.total}
        onClick={() => goToHit(1)}
      >
        ▶
      </button>
      <span class="sub" role="status" data-hits={result?.total ?? ""}>
        {status}
      </span>
    </span>
  );
}
