// Says which part of the job is shown, and changes it.

import { Fragment, type JSX } from "preact";
import { formatDuration } from "./format";
import { Popover } from "./popover";
import {
  extent,
  isFollowing,
  isLive,
  isWhole,
  selection,
  setSelection,
  setView,
  showAll,
  view,
  zoomBy,
} from "./state";
import { shownRange } from "./time_axis";

const WIDTHS = [86400, 3600, 900, 300, 60, 10, 1];

/** The three widths below the whole that are worth a button. */
export function usefulWidths(whole: number): number[] {
  return WIDTHS.filter((width) => width < whole * 0.75).slice(0, 3);
}

function showWidth(width: number): void {
  const [from, to] = view.peek();
  if (isFollowing.peek()) setView([to - width, to]);
  else setView([(from + to - width) / 2, (from + to + width) / 2]);
}

export function TimeBar(): JSX.Element {
  const [from, to] = view.value;
  const whole = extent.value[1];
  const short = (width: number): string =>
    formatDuration(width)
      .replace(/\.0+(?=\D)/, "")
      .replace(/ 0\u202fmin$/, "");
  return (
    <div class="time-bar" role="toolbar" aria-label="Time window">
      <span class="shown">
        <b>{shownRange(from, to)}</b>{" "}
        <span class="sub">
          {isWhole.value
            ? "the whole job"
            : `${formatDuration(to - from)} of ${formatDuration(whole)}`}
        </span>
      </span>
      {selection.value && (
        <span class="selected">
          selected {shownRange(...selection.value)} (
          {formatDuration(selection.value[1] - selection.value[0])})
          <button type="button" onClick={() => setView(selection.value!)}>
            Zoom to it
          </button>
          <button type="button" onClick={() => setSelection(null)}>
            Clear
          </button>
        </span>
      )}
      <span class="buttons">
        {isLive.value && !isFollowing.value && (
          <button
            type="button"
            onClick={() => setView([extent.value[1] - (to - from), extent.value[1]])}
          >
            Go to now
          </button>
        )}
        <button type="button" aria-label="Zoom in" onClick={() => zoomBy(0.5)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoomBy(2)}>
          −
        </button>
        <button type="button" aria-pressed={isWhole.value} onClick={showAll}>
          All
        </button>
        {usefulWidths(whole).map((width) => (
          <button
            type="button"
            key={width}
            aria-pressed={Math.abs(to - from - width) < width * 1e-3}
            onClick={() => showWidth(width)}
          >
            {short(width)}
          </button>
        ))}
        <Popover label="Keys" title="What mouse, fingers and keys do" isRight>
          <KeysHelp />
        </Popover>
      </span>
    </div>
  );
}

const HELP: [string, string][] = [
  ["drag", "zoom, on phases select; with Shift the other of both"],
  ["double-click or double-tap, 0", "show the whole job"],
  ["Ctrl + wheel, + −, two fingers", "zoom in and out"],
  ["Shift + wheel, two fingers, ← →", "move"],
  ["tap", "show the values at a time"],
  [", .", "move the hover time"],
  ["s, z, Esc", "select around the hover time, zoom to the selection, clear it"],
];

function KeysHelp(): JSX.Element {
  return (
    <dl class="keys">
      {HELP.map(([keys, what]) => (
        <Fragment key={keys}>
          <dt>{keys}</dt>
          <dd>{what}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
