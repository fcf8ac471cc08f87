// All nodes over time for one metric, outliers first; a click opens a node.

import { computed, type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useMemo, useRef } from "preact/hooks";
import type { MetricDocument, NodeDocument } from "../api";
import { type Area, drawSelectionFrame, FONT, TimeCanvas } from "../canvas";
import { color } from "../colors";
import { FindingsTrack } from "../findings_track";
import { formatDuration, formatValue, pluralize } from "../format";
import type { Point } from "../gestures";
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
  const pixels = useMemo(() => coarsePixels(width), []);
  const metric = useComputed(() => route.value.parameters.metric ?? "");
  const by = useComputed<By>(
    () => BY.find((option) => option === route.value.parameters.by) ?? "mean",
  );
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
        label="Aggregate"
        value={by.value}
        options={BY}
        onChange={(next) => setParameters({ by: next === "mean" ? null : next })}
      />
      <Choice
        label="Sort by"
        value={isRanked.value ? "difference" : "name"}
        options={["difference", "name"]}
        onChange={(next) => setParameters({ order: next === "name" ? next : null })}
      />
      <Choice
        label="Scale"
        value={isRelative.value ? "relative" : "full"}
        options={["full", "relative"]}
        onChange={(next) => setParameters({ scale: next === "relative" ? next : null })}
      />
    </>
  );
  return (
    <div class="fleet" ref={box}>
      <Waiting resource={data.value}>
        {(fleet) => <Ranking data={fleet} count={nodes.length} />}
      </Waiting>
      <div class="card flush">
        <ChartBlock
          title={pluralize(nodes.length, "node")}
          sub={
            value
              ? `${formatDuration(value.heat.width)} per column. Click a row to open the node.`
              : ""
          }
          controls={controls}
          table={() => fleetTable(value)}
        >
          <FindingsTrack />
          <Waiting
            resource={data.value}
            empty={(fleet) => (fleet.nodes.length ? null : "No system samples recorded.")}
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
    .map((document) => document.metric)
    .filter((name) => !name.startsWith("sonde.") && !name.startsWith("process."));
  if (shown && !names.includes(shown)) names.unshift(shown);
  return (
    <Choice
      label="Metric"
      value={shown}
      options={names}
      onChange={(next) => setParameters({ metric: next })}
    />
  );
}

function fleetTable(data: FleetData | null): ReturnType<typeof tableSpec> {
  const rows = (data?.ranking ?? []).map((row) => [row.node, row.mean, row.reason ?? ""]);
  return tableSpec(
    "Nodes",
    [textColumn("Node"), numberColumn("Mean in view", data?.unit ?? ""), textColumn("Outlier")],
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
  const hoveredRow = useSignal(-1);
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
    drawHoveredRow(g, area, hoveredRow.peek(), height);
    drawSelectionFrame(g, area);
  }, []);
  const rowAt = (point: Point): number => {
    const index = Math.floor(point.y / fleetRowHeight(order.peek().length));
    return index >= 0 && index < order.peek().length ? index : -1;
  };
  return (
    <TimeCanvas
      name="fleet"
      label="Heatmap of all nodes over time, one row per node"
      height={Math.max(60, Math.ceil(order.value.length * rowHeight))}
      draw={draw}
      depends={() => [data.value, order.value, isRelative.value, hoveredRow.value]}
      tip={(point) => {
        const shown = data.peek().value,
          index = rowAt(point);
        hoveredRow.value = index;
        if (!shown || index < 0) return null;
        const row = order.peek()[index]!;
        const value = (heatAt(shown.heat, row, point.time) / 100) * shown.top;
        const text = formatValue(value, shown.unit);
        return `${shown.nodes[row]} · ${shownTime(point.time)} · ${text}`;
      }}
      onClick={(point) => {
        const shown = data.peek().value,
          index = rowAt(point);
        if (shown && index >= 0) showNode(shown.nodes[order.peek()[index]!]!);
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
  const outliers = new Set(shown.ranking.filter((row) => row.is_outlier).map((row) => row.node));
  g.font = FONT;
  g.textAlign = "right";
  g.textBaseline = "middle";
  order.forEach((row, index) => {
    const name = shown.nodes[row]!,
      y = (index + 0.5) * height;
    if (outliers.has(name)) {
      g.fillStyle = color("--warn");
      g.fillRect(area.left - 4, index * height, 3, Math.max(1, height));
    }
    if (index % every) return;
    g.fillStyle = color("--muted");
    g.fillText(
      shortened(g, name, area.left - 12),
      area.left - 8,
      Math.min(area.height - 6, Math.max(6, y)),
    );
  });
}

/** Truncates the start of a name, because nodes differ at the end. */
function shortened(g: CanvasRenderingContext2D, name: string, maxWidth: number): string {
  let text = name;
  while (text.length > 3 && g.measureText(text).width > maxWidth)
    text = `…${text.slice(text.startsWith("…") ? 2 : 1)}`;
  return text;
}

function drawHoveredRow(
  g: CanvasRenderingContext2D,
  area: Area,
  index: number,
  height: number,
): void {
  if (index < 0) return;
  g.strokeStyle = color("--ink");
  g.lineWidth = 1;
  g.strokeRect(
    area.left - 0.5,
    Math.floor(index * height) - 0.5,
    area.plot + 1,
    Math.max(3, height + 1),
  );
}
