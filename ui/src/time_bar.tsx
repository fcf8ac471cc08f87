// Shows and changes the time window.

import { Fragment, type JSX } from "preact";
import { formatDuration } from "./format";
import { Popover } from "./popover";
import {
  extent,
  isFollowing,
  isFullView,
  isLive,
  selection,
  setSelection,
  setView,
  showAll,
  view,
  zoomBy,
} from "./state";
import { shownRange } from "./time_axis";

const WIDTHS = [86400, 3600, 900, 300, 60, 10, 1];

/** Up to three zoom widths well below the total. */
export function usefulWidths(total: number): number[] {
  return WIDTHS.filter((width) => width < total * 0.75).slice(0, 3);
}

function showWidth(width: number): void {
  const [from, to] = view.peek();
  if (isFollowing.peek()) setView([to - width, to]);
  else setView([(from + to - width) / 2, (from + to + width) / 2]);
}

export function TimeBar(): JSX.Element {
  const [from, to] = view.value;
  const total = extent.value[1];
  return (
    <div class="time-bar" role="toolbar" aria-label="Time window">
      <span class="shown">
        <b>{shownRange(from, to)}</b>{" "}
        <span class="sub">
          {isFullView.value
            ? "entire job"
            : `${formatDuration(to - from)} of ${formatDuration(total)}`}
        </span>
      </span>
      {selection.value && (
        <span class="selected">
          Selected: {shownRange(...selection.value)} (
          {formatDuration(selection.value[1] - selection.value[0])})
          <button type="button" onClick={() => setView(selection.value!)}>
            Zoom to selection
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
            Jump to end
          </button>
        )}
        <button type="button" aria-label="Zoom in" onClick={() => zoomBy(0.5)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoomBy(2)}>
          −
        </button>
        <button type="button" aria-pressed={isFullView.value} onClick={showAll}>
          All
        </button>
        {usefulWidths(total).map((width) => (
          <button
            type="button"
            key={width}
            aria-pressed={Math.abs(to - from - width) < width * 1e-3}
            onClick={() => showWidth(width)}
          >
            {formatDuration(width)}
          </button>
        ))}
        <Popover label="Shortcuts" title="Mouse, touch and keyboard shortcuts" isRight>
          <KeysHelp />
        </Popover>
      </span>
    </div>
  );
}

const HELP: [string, string][] = [
  ["Drag", "Zoom; on phases, select. Hold Shift to swap"],
  ["Double-click, double-tap, 0", "Show the entire job"],
  ["Ctrl + wheel, + −, pinch", "Zoom in and out"],
  ["Shift + wheel, two-finger drag, ← →", "Pan"],
  ["Tap", "Show the values at that time"],
  [", .", "Move the hover time"],
  ["s, z, Esc", "Select around the hover time, zoom to the selection, clear it"],
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
