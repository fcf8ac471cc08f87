// All nodes over time for one metric, those that differ first; a click leads to one.

import { computed, type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useMemo, useRef } from "preact/hooks";
import type { MetricDocument, NodeDocument } from "../api";
import { type Area, drawSelectionFrame, FONT, TimeCanvas } from "../canvas";
import { color } from "../colors";
import { formatDuration, formatValue } from "../format";
import { GUTTER, type Point, RIGHT } from "../gestures";
import { always, useResource, useVisible, useWidth } from "../resource";
import { route, setParameters } from "../router";
import { Waiting } from "../states";
import { shownTime, TimeAxis } from "../time_axis";
import { ChartBlock, numberColumn, tableSpec, textColumn } from "./chart_block";
import { type FleetData, fleetOrder, fleetRowHeight, loadFleet } from "./fleet_data";
import { drawColorBar, drawHeat, heatTable, Sheet } from "./heat_drawing";
import { codeExtent, heatAt } from "./heat_image";
import { labelStep } from "./heat_layout";
import { Choice } from "./heatmap";
import { showNode } from "./node_choice";
import { Ranking } from "./ranking";
import { type By, coarsePixels, loadMetrics } from "./source";

const BY = ["mean", "max", "min"] as const;

export function Fleet({ nodes }: { nodes: readonly NodeDocument[] }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const isVisible = useVisible(box);
  const width = useWidth(box);
  const isReady = useComputed(() => isVisible.value && width.value > 0);
  const pixels = useMemo(() => coarsePixels(width, GUTTER + RIGHT), []);
  const metric = useComputed(() => route.value.parameters.metric ?? "");
  const by = useComputed<By>(() => BY.find((one) => one === route.value.parameters.by) ?? "mean");
  const isRanked = useComputed(() => route.value.parameters.order !== "name");
  const isRelative = useComputed(() => route.value.parameters.scale === "relative");
  const data = useResource(
    (signal) => loadFleet(metric.value, by.value, pixels.value, signal),
    isReady,
  );
  const metrics = useResource((signal) => loadMetrics(nodes[0]!.name, signal), always);
  const value = data.value.value;
  const controls = (
    <>
      <MetricChoice metrics={metrics.value.value ?? []} shown={value?.metric ?? metric.value} />
      <Choice
        label="of each column"
        value={by.value}
        options={BY}
        onChange={(next) => setParameters({ by: next === "mean" ? null : next })}
      />
      <Choice
        label="nodes by"
        value={isRanked.value ? "difference" : "name"}
        options={["difference", "name"]}
        onChange={(next) => setParameters({ order: next === "name" ? next : null })}
      />
      <Choice
        label="scale"
        value={isRelative.value ? "relative" : "full"}
        options={["full", "relative"]}
        onChange={(next) => setParameters({ scale: next === "relative" ? next : null })}
      />
    </>
  );
  return (
    <div class="fleet" ref={box}>
      <Waiting resource={data.value}>
        {(one) => <Ranking data={one} count={nodes.length} />}
      </Waiting>
      <div class="card flush">
        <ChartBlock
          title={`${nodes.length} nodes`}
          sub={
            value
              ? `one column is ${formatDuration(value.heat.width)}; click a row to open the node`
              : ""
          }
          controls={controls}
          twin={() => fleetTwin(value)}
        >
          <Waiting
            resource={data.value}
            empty={(one) => (one.nodes.length ? null : "No node was sampled.")}
          >
            {() => <FleetCanvas data={data} isRanked={isRanked} isRelative={isRelative} />}
          </Waiting>
        </ChartBlock>
        <TimeAxis name="axis-fleet" />
      </div>
    </div>
  );
}

function MetricChoice({
  metrics,
  shown,
}: {
  metrics: readonly MetricDocument[];
  shown: string;
}): JSX.Element {
  const names = metrics
    .map((one) => one.metric)
    .filter((name) => !name.startsWith("sonde.") && !name.startsWith("process."));
  if (shown && !names.includes(shown)) names.unshift(shown);
  return (
    <Choice
      label="metric"
      value={shown}
      options={names}
      onChange={(next) => setParameters({ metric: next })}
    />
  );
}

function fleetTwin(data: FleetData | null): ReturnType<typeof tableSpec> {
  const rows = (data?.ranking ?? []).map((one) => [one.node, one.mean, one.reason ?? ""]);
  return tableSpec(
    "Nodes",
    [
      textColumn("node"),
      numberColumn("mean in view", data?.unit ?? ""),
      textColumn("what stands out"),
    ],
    rows,
  );
}

type CanvasProps = {
  data: ReadonlySignal<{ value: FleetData | null }>;
  isRanked: ReadonlySignal<boolean>;
  isRelative: ReadonlySignal<boolean>;
};

function FleetCanvas({ data, isRanked, isRelative }: CanvasProps): JSX.Element {
  const order = useMemo(
    () => computed(() => (data.value.value ? fleetOrder(data.value.value, isRanked.value) : [])),
    [],
  );
  const sheet = useMemo(() => new Sheet(), []);
  const pointed = useSignal(-1);
  const rowHeight = fleetRowHeight(order.value.length);
  const draw = useCallback((g: CanvasRenderingContext2D, area: Area) => {
    const shown = data.peek().value;
    if (!shown) return;
    const [low, high] = isRelative.peek() ? codeExtent(shown.heat.codes) : [0, 200];
    const height = fleetRowHeight(order.peek().length);
    drawHeat(g, area, sheet, {
      heat: shown.heat,
      order: order.peek(),
      table: heatTable({ low, high }),
      top: 0,
      rowHeight: height,
    });
    drawNames(g, area, shown, order.peek(), height);
    drawColorBar(
      g,
      area,
      heatTable({ low: 0, high: 200 }),
      [low, (low + high) / 2, high].map((code) =>
        formatValue((code / 200) * shown.top, shown.unit),
      ) as [string, string, string],
    );
    drawPointed(g, area, pointed.peek(), height);
    drawSelectionFrame(g, area);
  }, []);
  const placeAt = (point: Point): number => {
    const place = Math.floor(point.y / fleetRowHeight(order.peek().length));
    return place >= 0 && place < order.peek().length ? place : -1;
  };
  return (
    <TimeCanvas
      name="fleet"
      label="All nodes over time, a row each"
      height={Math.max(60, Math.ceil(order.value.length * rowHeight))}
      draw={draw}
      depends={() => [data.value, order.value, isRelative.value, pointed.value]}
      tip={(point) => {
        const shown = data.peek().value,
          place = placeAt(point);
        pointed.value = place;
        if (!shown || place < 0) return null;
        const row = order.peek()[place]!;
        return `${shown.nodes[row]} · ${shownTime(point.time)} · ${formatValue((heatAt(shown.heat, row, point.time) / 100) * shown.top, shown.unit)}`;
      }}
      onClick={(point) => {
        const shown = data.peek().value,
          place = placeAt(point);
        if (shown && place >= 0) showNode(shown.nodes[order.peek()[place]!]!);
      }}
      data={() => ({ ...data.peek().value, order: order.peek() })}
    />
  );
}

function drawNames(
  g: CanvasRenderingContext2D,
  area: Area,
  shown: FleetData,
  order: readonly number[],
  height: number,
): void {
  const every = labelStep(height);
  const outliers = new Set(shown.ranking.filter((one) => one.is_outlier).map((one) => one.node));
  g.font = FONT;
  g.textAlign = "right";
  g.textBaseline = "middle";
  order.forEach((row, place) => {
    const name = shown.nodes[row]!,
      y = (place + 0.5) * height;
    if (outliers.has(name)) {
      g.fillStyle = color("--warn");
      g.fillRect(area.left - 4, place * height, 3, Math.max(1, height));
    }
    if (place % every) return;
    g.fillStyle = color("--muted");
    g.fillText(
      shortened(g, name, area.left - 12),
      area.left - 8,
      Math.min(area.height - 6, Math.max(6, y)),
    );
  });
}

/** The end of a name tells nodes apart; the beginning gives way. */
function shortened(g: CanvasRenderingContext2D, name: string, room: number): string {
  let text = name;
  while (text.length > 3 && g.measureText(text).width > room)
    text = `…${text.slice(text.startsWith("…") ? 2 : 1)}`;
  return text;
}

function drawPointed(g: CanvasRenderingContext2D, area: Area, place: number, height: number): void {
  if (place < 0) return;
  g.strokeStyle = color("--ink");
  g.lineWidth = 1;
  g.strokeRect(
    area.left - 0.5,
    Math.floor(place * height) - 0.5,
    area.plot + 1,
    Math.max(3, height + 1),
  );
}
