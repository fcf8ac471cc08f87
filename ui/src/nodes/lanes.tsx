// Framework phases over time, as lanes or as shares; drag to select.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useRef } from "preact/hooks";
import { drawBands } from "../band_drawing";
import { type Area, drawSelection, drawSelectionFrame, FONT, plotOf, TimeCanvas } from "../canvas";
import { color, phaseColor, phaseName } from "../colors";
import { timeBands } from "../finding_marks";
import { formatCount, formatDuration, formatPercent } from "../format";
import { hasWideMargin, type Point, xAt } from "../gestures";
import { useResource, useVisible } from "../resource";
import { route, setParameters } from "../router";
import { job } from "../state";
import { Waiting } from "../states";
import { shownTime } from "../time_axis";
import { ChartBlock, numberColumn, tableSpec, textColumn } from "./chart_block";
import { Choice } from "./heatmap";
import {
  isPhase,
  type Lane,
  type Lanes as LaneData,
  loadLanes,
  phaseShares,
  shareColumns,
  spanAt,
  styleFor,
} from "./phases";
import { chosenWorker, workersOf } from "./workers";

const LANE = 22;
const SHARE_HEIGHT = 132;

export function Lanes({
  node,
  pixels,
}: {
  node: string;
  pixels: ReadonlySignal<number>;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const isVisible = useVisible(box);
  const worker = useComputed(() => chosenWorker(node));
  const data = useResource(
    async (signal) => {
      if (worker.value === null)
        return { window: [0, 1], columns: 0, lanes: [] } satisfies LaneData;
      return loadLanes(worker.value, pixels.value, signal);
    },
    isVisible,
    [node],
  );
  const lanes = data.value.value;
  const style = lanes ? styleFor(lanes, route.value.parameters.phases) : "lanes";
  const ranks = workersOf(job.value, node).map((document) => String(document.rank));
  const controls = (
    <>
      {ranks.length > 1 && (
        <Choice
          label="Worker"
          value={String(worker.value)}
          options={ranks}
          onChange={(value) => setParameters({ worker: value })}
        />
      )}
      <Choice
        label="View"
        value={route.value.parameters.phases ?? "auto"}
        options={["auto", "lanes", "share"]}
        onChange={(value) => setParameters({ phases: value === "auto" ? null : value })}
      />
    </>
  );
  const sub =
    worker.value === null
      ? ""
      : `Worker ${worker.value}${style === "share" ? ", share of time" : ""}. Drag to select.`;
  return (
    <div ref={box} class="ruled">
      <ChartBlock
        title="Framework phases"
        sub={sub}
        controls={controls}
        table={() => lanesTable(lanes)}
      >
        <Waiting
          resource={data.value}
          empty={(laneData) => (laneData.lanes.length ? null : noSteps(worker.value))}
        >
          {() =>
            style === "share" ? (
              <ShareCanvas data={data.value.value!} />
            ) : (
              <LanesCanvas data={data.value.value!} />
            )
          }
        </Waiting>
      </ChartBlock>
    </div>
  );
}

function noSteps(worker: number | null): string {
  return worker === null
    ? job.value?.not_seen || "No training process detected on this node."
    : `No steps of worker ${worker} recorded in this window.`;
}

function lanesTable(data: LaneData | null): ReturnType<typeof tableSpec> {
  const span = data ? data.window[1] - data.window[0] : 1;
  const rows = (data?.lanes ?? []).map((lane) => [
    phaseName(lane.name),
    lane.count,
    lane.seconds,
    (lane.seconds / span) * 100,
  ]);
  return tableSpec(
    "Framework phases",
    [
      textColumn("Phase"),
      numberColumn("Count", ""),
      numberColumn("Total", "seconds"),
      numberColumn("Share of time", "percent"),
    ],
    rows,
  );
}

function LanesCanvas({ data }: { data: LaneData }): JSX.Element {
  const draw = useCallback(
    (g: CanvasRenderingContext2D, area: Area) => {
      drawSelection(g, area);
      drawBands(g, plotOf(area), timeBands.peek());
      data.lanes.forEach((lane, i) => {
        drawLane(g, area, data, lane, i * LANE);
      });
      drawSelectionFrame(g, area);
    },
    [data],
  );
  const tip = (point: Point): string | null => {
    const lane = data.lanes[Math.floor(point.y / LANE)];
    return lane ? laneTip(lane, data, point.time) : null;
  };
  return (
    <TimeCanvas
      name="phases"
      label="Phases of the worker over time, one lane per phase"
      height={data.lanes.length * LANE}
      draw={draw}
      tip={tip}
      dragMode="select"
      depends={() => timeBands.value}
      data={() => ({ style: "lanes", ...data })}
    />
  );
}

function laneTip(lane: Lane, data: LaneData, time: number): string | null {
  const index = spanAt(lane, time);
  if (index >= 0) {
    const step = lane.steps[index]!;
    const place = Number.isFinite(step) && step >= 0 ? ` · step ${formatCount(step)}` : "";
    const duration = formatDuration(lane.lengths[index]!);
    return `${phaseName(lane.name)}${place} · ${duration} · at ${shownTime(lane.starts[index]!)}`;
  }
  if (!lane.coverage) return null;
  const column = Math.floor(
    ((time - data.window[0]) / (data.window[1] - data.window[0])) * lane.coverage.length,
  );
  const share = lane.coverage[column];
  const columnSeconds = (data.window[1] - data.window[0]) / lane.coverage.length;
  return share
    ? `${phaseName(lane.name)} · ${formatPercent(share * 100)} of ${formatDuration(columnSeconds)}`
    : null;
}

function drawLane(
  g: CanvasRenderingContext2D,
  area: Area,
  data: LaneData,
  lane: Lane,
  top: number,
): void {
  const { left, plot, width, window } = area;
  g.font = FONT;
  g.textBaseline = "middle";
  g.fillStyle = color("--grid");
  g.fillRect(left, top + LANE - 1, plot, 1);
  g.textAlign = "right";
  g.fillStyle = color("--ink2");
  g.fillText(phaseName(lane.name), left - 8, top + LANE / 2, left - 12);
  g.textAlign = "left";
  g.fillStyle = color("--muted");
  const share = lane.seconds / (data.window[1] - data.window[0]);
  const count = hasWideMargin(width) ? ` · ${formatCount(lane.count)}` : "";
  g.fillText(`${formatPercent(share * 100)}${count}`, left + plot + 10, top + LANE / 2);
  g.save();
  g.beginPath();
  g.rect(left, top, plot, LANE);
  g.clip();
  g.fillStyle = color(phaseColor(lane.name));
  if (lane.coverage) {
    const perColumn = (data.window[1] - data.window[0]) / lane.coverage.length;
    const pixel = Math.max(1, (perColumn / (window[1] - window[0])) * plot);
    lane.coverage.forEach((value, i) => {
      if (value <= 0.004) return;
      const height = Math.max(1.5, (LANE - 6) * value);
      g.fillRect(
        xAt(data.window[0] + i * perColumn, width, window),
        top + LANE - 3 - height,
        pixel,
        height,
      );
    });
  }
  lane.starts.forEach((at, i) => {
    drawSpan(g, area, lane, i, xAt(at, width, window), top);
  });
  g.restore();
}

function drawSpan(
  g: CanvasRenderingContext2D,
  area: Area,
  lane: Lane,
  i: number,
  x: number,
  top: number,
): void {
  const seconds = lane.lengths[i]!;
  const wide = (seconds / (area.window[1] - area.window[0])) * area.plot;
  const from = Math.max(area.left, x),
    to = Math.min(area.left + area.plot, x + wide);
  if (to < area.left || from > area.left + area.plot) return;
  g.fillRect(x, top + 3, Math.max(1, wide - (wide > 3 ? 1 : 0)), LANE - 6);
  if (to - from < 46) return;
  const before = g.fillStyle;
  g.fillStyle = color(lane.category === "step" ? "--ink2" : "--on-phase");
  const label = lane.category === "step" ? `step ${lane.steps[i]}` : formatDuration(seconds);
  if (g.measureText(label).width < to - from - 8) g.fillText(label, from + 5, top + LANE / 2);
  g.fillStyle = before;
}

function ShareCanvas({ data }: { data: LaneData }): JSX.Element {
  const phases = data.lanes.filter(isPhase);
  const draw = useCallback(
    (g: CanvasRenderingContext2D, area: Area) => {
      drawShareAxis(g, area);
      const shares = phaseShares(data, shareColumns(area.plot), area.window);
      let below = new Float64Array(shareColumns(area.plot));
      phases.forEach((lane, index) => {
        const above = shares[index]!.map((share, i) => Math.min(1, below[i]! + share));
        g.fillStyle = color(phaseColor(lane.name));
        fillBetween(g, area, below, above);
        below = above;
      });
      drawBands(g, plotOf(area), timeBands.peek());
      drawShareLegend(g, area, data, phases);
      drawSelectionFrame(g, area);
    },
    [data],
  );
  const tip = (point: Point, area: Area): string => {
    const columns = shareColumns(area.plot);
    const column = Math.min(
      columns - 1,
      Math.max(0, Math.floor(((point.x - area.left) / area.plot) * columns)),
    );
    const shares = phaseShares(data, columns, area.window);
    const rows = phases
      .map((lane, i) => [phaseName(lane.name), shares[i]![column]!] as const)
      .filter(([, share]) => share > 0.001);
    return [
      shownTime(point.time),
      ...rows.map(([name, share]) => `${formatPercent(share * 100)}  ${name}`),
    ].join("\n");
  };
  return (
    <TimeCanvas
      name="phases"
      label="Share of time of each phase"
      height={SHARE_HEIGHT}
      draw={draw}
      tip={tip}
      dragMode="select"
      depends={() => timeBands.value}
      data={() => ({ style: "share", ...data })}
    />
  );
}

/** Fills the area between two step curves. */
function fillBetween(
  g: CanvasRenderingContext2D,
  area: Area,
  below: Float64Array,
  above: Float64Array,
): void {
  const x = (i: number): number => area.left + (i * area.plot) / below.length;
  const y = (share: number): number => 4 + (1 - share) * (area.height - 8);
  g.beginPath();
  above.forEach((share, i) => {
    g.lineTo(x(i), y(share));
    g.lineTo(x(i + 1), y(share));
  });
  for (let i = below.length - 1; i >= 0; i--) {
    g.lineTo(x(i + 1), y(below[i]!));
    g.lineTo(x(i), y(below[i]!));
  }
  g.closePath();
  g.fill();
}

function drawShareAxis(g: CanvasRenderingContext2D, area: Area): void {
  g.font = FONT;
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (const share of [0, 0.5, 1]) {
    const y = 4 + (1 - share) * (area.height - 8);
    g.fillStyle = color("--grid");
    g.fillRect(area.left, Math.round(y), area.plot, 1);
    g.fillStyle = color("--muted");
    g.fillText(
      formatPercent(share * 100),
      area.left - 8,
      Math.min(area.height - 6, Math.max(6, y)),
    );
  }
}

function drawShareLegend(
  g: CanvasRenderingContext2D,
  area: Area,
  data: LaneData,
  phases: readonly Lane[],
): void {
  g.textAlign = "left";
  const span = data.window[1] - data.window[0];
  [...phases]
    .reverse()
    .slice(0, 8)
    .forEach((lane, i) => {
      const y = 12 + i * 16,
        x = area.left + area.plot + 8;
      g.fillStyle = color(phaseColor(lane.name));
      g.fillRect(x, y - 4, 8, 8);
      g.fillStyle = color("--ink2");
      const name = hasWideMargin(area.width) ? ` ${phaseName(lane.name)}` : "";
      g.fillText(`${formatPercent((lane.seconds / span) * 100)}${name}`, x + 12, y, 104);
    });
}
