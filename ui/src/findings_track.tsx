// All findings over time as labelled bars, above the charts of a page.

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import type { Mark } from "./band_drawing";
import { type Area, drawSelection, FONT, TimeCanvas } from "./canvas";
import { color, SEVERITY } from "./colors";
import { timeMarks } from "./finding_marks";
import { pluralize } from "./format";
import { hasWideMargin, type Point, xAt } from "./gestures";
import { goTo, linkTo } from "./router";
import { view } from "./state";
import { shownTime } from "./time_axis";
import { fitting } from "./timeline/layout";

const ROW = 18;
const MAX_ROWS = 5;
const MIN_PIXELS = 4;
const LABEL_SHARE = 0.12; // of the window, kept free for the label of a narrow bar

export type Bar = { mark: Mark; row: number };

/** Places marks in rows so that those at the same time are below each other. */
export function barsOf(marks: readonly Mark[], window: readonly [number, number]): Bar[] {
  const ends: number[] = [];
  const width = window[1] - window[0];
  const bars: Bar[] = [];
  for (const mark of marks) {
    if (mark.range[1] < window[0] || mark.range[0] > window[1]) continue;
    const free = ends.findIndex((end) => end + width * 0.01 < mark.range[0]);
    const row = free < 0 ? ends.length : free;
    if (row >= MAX_ROWS) continue;
    ends[row] = Math.max(mark.range[1], mark.range[0] + LABEL_SHARE * width);
    bars.push({ mark, row });
  }
  return bars;
}

export function FindingsTrack(): JSX.Element | null {
  const bars = barsOf(
    [...timeMarks.value].sort((a, b) => a.range[0] - b.range[0]),
    view.value,
  );
  const draw = useCallback(
    (g: CanvasRenderingContext2D, area: Area) => {
      drawSelection(g, area);
      if (hasWideMargin(area.width)) drawTitle(g, area);
      for (const bar of bars) drawBar(g, area, bar);
    },
    [bars],
  );
  if (!bars.length) return null;
  const under = (point: Point, area: Area): Mark | null => {
    const slack = (MIN_PIXELS * (area.window[1] - area.window[0])) / area.plot;
    const row = Math.floor(point.y / ROW);
    const hit = bars.find(
      ({ mark, row: barRow }) =>
        barRow === row &&
        point.time >= mark.range[0] - slack &&
        point.time <= mark.range[1] + slack,
    );
    return hit?.mark ?? null;
  };
  return (
    <div class="findings-track">
      <TimeCanvas
        name="findings-track"
        label={`${pluralize(bars.length, "finding")} over time; listed above`}
        height={ROW * (1 + Math.max(...bars.map(({ row }) => row)))}
        draw={draw}
        tip={(point, area) => {
          const mark = under(point, area);
          return mark
            ? `${mark.severity} · ${mark.rule} · ${shownTime(mark.range[0])} – ${shownTime(mark.range[1])}\n${mark.message.slice(0, 110)}`
            : null;
        }}
        onClick={(point, area) => {
          const mark = under(point, area);
          if (mark) goTo(linkTo("finding", undefined, { id: mark.id }));
        }}
        data={() => bars}
      />
    </div>
  );
}

function drawTitle(g: CanvasRenderingContext2D, area: Area): void {
  g.font = FONT;
  g.textAlign = "right";
  g.textBaseline = "middle";
  g.fillStyle = color("--muted");
  g.fillText("Findings", area.left - 8, ROW / 2);
}

function drawBar(g: CanvasRenderingContext2D, area: Area, { mark, row }: Bar): void {
  const right = area.left + area.plot;
  const from = Math.max(area.left, xAt(mark.range[0], area.width, area.window));
  const to = Math.min(right, xAt(mark.range[1], area.width, area.window));
  const width = Math.max(MIN_PIXELS, to - from);
  const stroke = color(SEVERITY[mark.severity] ?? "--c1");
  g.save();
  g.fillStyle = stroke;
  g.globalAlpha = 0.22;
  g.fillRect(from, row * ROW + 2, width, ROW - 4);
  g.globalAlpha = 1;
  g.fillRect(from, row * ROW + 2, 3, ROW - 4);
  g.font = FONT;
  g.textBaseline = "middle";
  g.textAlign = "left";
  const isInside = g.measureText(mark.rule).width + 10 < width;
  g.fillStyle = color("--ink");
  const label = isInside ? mark.rule : fitting(mark.rule, right - from - width);
  if (label) g.fillText(label, from + (isInside ? 7 : width + 4), row * ROW + ROW / 2);
  g.restore();
}
