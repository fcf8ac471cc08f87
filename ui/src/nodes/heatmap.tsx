// Utilization heatmap of every core and GPU over time.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { type Area, drawSelectionFrame, FONT, TimeCanvas } from "../canvas";
import { color } from "../colors";
import { formatDuration, formatPercent } from "../format";
import type { Point } from "../gestures";
import type { Resource } from "../resource";
import { route, setParameters } from "../router";
import { Waiting } from "../states";
import { shownTime } from "../time_axis";
import { ChartBlock, numberColumn, tableSpec, textColumn } from "./chart_block";
import { drawColorBar, drawHeat, heatTable, Sheet } from "./heat_drawing";
import { codeExtent, heatAt } from "./heat_image";
import { labelStep, layoutRows, type RowLayout, rowAt } from "./heat_layout";
import { pickColor, picks, togglePick } from "./picks";
import type { By, NodeHeat } from "./source";

type Props = {
  data: ReadonlySignal<Resource<NodeHeat>>;
  by: ReadonlySignal<By>;
  means: ReadonlySignal<Float64Array | null>;
};

export function HeatmapChart({ data, by, means }: Props): JSX.Element {
  const isByLoad = useComputed(() => route.value.parameters.order === "load");
  const isRelative = useComputed(() => route.value.parameters.scale === "relative");
  const layout = useComputed(() =>
    layoutRows(data.value.value?.devices ?? [], isByLoad.value ? means.value : null),
  );
  const choices = (
    <>
      <Choice
        label="Aggregate"
        value={by.value}
        options={["mean", "max", "min"]}
        onChange={(value) => setParameters({ by: value === "mean" ? null : value })}
      />
      <Choice
        label="Sort by"
        value={isByLoad.value ? "load" : "number"}
        options={["number", "load"]}
        onChange={(value) => setParameters({ order: value === "load" ? value : null })}
      />
      <Choice
        label="Scale"
        value={isRelative.value ? "relative" : "0–100%"}
        options={["0–100%", "relative"]}
        onChange={(value) => setParameters({ scale: value === "relative" ? value : null })}
      />
    </>
  );
  const heat = data.value.value;
  return (
    <ChartBlock
      title="Cores and GPUs"
      sub={
        heat
          ? `${formatDuration(heat.heat.width)} per column. Click a row to add it to the chart above.`
          : ""
      }
      controls={choices}
      table={() => heatValuesTable(heat, means.value)}
    >
      <Waiting
        resource={data.value}
        empty={(nodeHeat) => (nodeHeat.devices.length ? null : "No CPU or GPU samples recorded.")}
      >
        {() => <HeatCanvas data={data} layout={layout} isRelative={isRelative} />}
      </Waiting>
    </ChartBlock>
  );
}

function heatValuesTable(
  heat: NodeHeat | null,
  means: Float64Array | null,
): ReturnType<typeof tableSpec> {
  const rows =
    heat && means
      ? heat.devices.map(({ device }, row) => [
          device,
          Number.isNaN(means[row]!) ? null : means[row]!,
        ])
      : [];
  return tableSpec(
    "Cores and GPUs",
    [textColumn("Device"), numberColumn("Mean in view", "percent")],
    rows,
  );
}

type CanvasProps = {
  data: Props["data"];
  layout: ReadonlySignal<RowLayout>;
  isRelative: ReadonlySignal<boolean>;
};

function HeatCanvas({ data, layout, isRelative }: CanvasProps): JSX.Element {
  const sheets = useMemo(() => ({ cpu: new Sheet(), gpu: new Sheet() }), []);
  const draw = useCallback((g: CanvasRenderingContext2D, area: Area) => {
    const shown = data.peek().value;
    if (!shown) return;
    const [low, high] = isRelative.peek() ? codeExtent(shown.heat.codes) : [0, 200];
    const table = heatTable({ low, high });
    for (const group of layout.peek().groups) {
      drawHeat(g, area, sheets[group.kind], { heat: shown.heat, table, ...group });
      drawLabels(g, area, group, shown);
    }
    drawColorBar(
      g,
      area,
      heatTable({ low: 0, high: 200 }),
      [low, (low + high) / 2, high].map((code) => formatPercent(code / 2)) as [
        string,
        string,
        string,
      ],
    );
    drawSelectionFrame(g, area);
  }, []);
  const deviceAt = (point: Point): number => rowAt(layout.peek(), point.y);
  return (
    <TimeCanvas
      name="heatmap"
      label="Utilization of every core and GPU over time"
      height={layout.value.height}
      draw={draw}
      depends={() => [data.value, layout.value, isRelative.value, picks.cpu.value, picks.gpu.value]}
      tip={(point) => {
        const shown = data.peek().value,
          row = deviceAt(point);
        return shown && row >= 0
          ? `${shown.devices[row]!.device} · ${shownTime(point.time)} · ${formatPercent(heatAt(shown.heat, row, point.time))}`
          : null;
      }}
      onClick={(point) => {
        const shown = data.peek().value,
          row = deviceAt(point);
        if (!shown || row < 0) return;
        const { kind } = shown.devices[row]!;
        togglePick(
          kind,
          shown.devices.slice(0, row).filter((device) => device.kind === kind).length,
        );
      }}
      data={() => ({ ...data.peek().value, layout: layout.peek() })}
    />
  );
}

function drawLabels(
  g: CanvasRenderingContext2D,
  area: Area,
  group: RowLayout["groups"][number],
  shown: NodeHeat,
): void {
  g.font = FONT;
  g.textAlign = "right";
  g.textBaseline = "middle";
  const every = labelStep(group.rowHeight);
  const first = shown.devices.findIndex((device) => device.kind === group.kind);
  group.order.forEach((row, y) => {
    const middle = group.top + (y + 0.5) * group.rowHeight;
    const pickIndex = picks[group.kind].peek().indexOf(row - first);
    if (pickIndex >= 0) {
      g.fillStyle = color(pickColor(pickIndex));
      g.fillRect(area.left - 5, group.top + y * group.rowHeight, 4, Math.max(2, group.rowHeight));
    }
    if (y % every) return;
    g.fillStyle = color("--muted");
    g.fillText(
      shown.devices[row]!.device,
      area.left - 8,
      Math.min(area.height - 6, Math.max(6, middle)),
    );
  });
}

type ChoiceProps = {
  label: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
};

export function Choice({ label, value, options, onChange }: ChoiceProps): JSX.Element {
  return (
    <label class="choice">
      {label}{" "}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
