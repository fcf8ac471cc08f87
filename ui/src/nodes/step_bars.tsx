// Step times stacked by phase, 30 steps at a time.

import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { getJson, jobPath } from "../api";
import { phaseColor, phaseName } from "../colors";
import { formatCount, formatDuration } from "../format";
import { exposeChart } from "../inspect";
import { updates } from "../live";
import { useResource, useVisible } from "../resource";
import { ChartMenu } from "../sharing/chart_menu";
import { job, jobStart, showRange } from "../state";
import { Waiting } from "../states";
import { Table } from "../views/table";
import { numberColumn, tableSpec } from "./chart_block";
import { Choice } from "./heatmap";
import {
  barSegments,
  labeledBars,
  namedBars,
  phaseOrder,
  type StepRow,
  stepCeiling,
} from "./step_layout";
import { chosenWorker } from "./workers";

type StepsDocument = {
  worker: number | null;
  mode: string;
  total: number;
  median_seconds: number | null;
  steps: StepRow[];
};
const SHOWN = 30;

export function StepBars({ node }: { node: string }): JSX.Element {
  const box = useRef<HTMLElement>(null);
  const isVisible = useVisible(box);
  const before = useSignal<number | null>(null);
  const mode = useSignal("train");
  const [hasTable, setTable] = useState(false);
  const worker = useComputed(() => chosenWorker(node));
  const data = useResource(
    (signal) => {
      if (before.value === null) void updates.steps.value;
      return getJson<StepsDocument>(
        jobPath(job.peek()?.job ?? "", "steps"),
        { worker: worker.value, mode: mode.value, last: SHOWN, before: before.value },
        signal,
      );
    },
    isVisible,
    [node],
  );
  useEffect(() => exposeChart("steps", () => data.peek().value), []);
  const value = data.value.value;
  const modes = Object.keys(job.value?.steps ?? {});
  const first = value?.steps[0]?.step ?? 0,
    last = value?.steps.at(-1)?.step ?? 0;
  return (
    <section class="card" ref={box} data-chart="steps" aria-label="Time per step">
      <header>
        <h2>Time per step</h2>
        {value && value.steps.length > 0 && (
          <span class="sub">
            Steps {formatCount(first)}–{formatCount(last)} of {formatCount(value.total)}
            {value.median_seconds !== null &&
              ` · job median ${formatDuration(value.median_seconds)}`}
          </span>
        )}
        <span class="end">
          {modes.length > 1 && (
            <Choice
              label="Mode"
              value={mode.value}
              options={modes}
              onChange={(next) => {
                mode.value = next;
                before.value = null;
              }}
            />
          )}
          <button
            type="button"
            aria-label="Earlier steps"
            disabled={(value?.steps.length ?? 0) < SHOWN || first === 0}
            onClick={() => (before.value = first)}
          >
            ◀
          </button>
          <button
            type="button"
            aria-label="Later steps"
            disabled={before.value === null}
            onClick={() =>
              (before.value =
                before.value! + SHOWN >= (job.value?.steps[mode.value] ?? 0)
                  ? null
                  : before.value! + SHOWN)
            }
          >
            ▶
          </button>
          <button
            type="button"
            class="quiet faint"
            aria-expanded={hasTable}
            onClick={() => setTable(!hasTable)}
          >
            {hasTable ? "Hide table" : "Show table"}
          </button>
          {value && <ChartMenu title="Time per step" box={box} table={() => stepsTable(value)} />}
        </span>
      </header>
      <Waiting
        resource={data.value}
        empty={(document) => (document.steps.length ? null : "No steps recorded.")}
      >
        {(document) => (
          <>
            <Bars data={document} />
            {hasTable && <Table spec={stepsTable(document)} />}
          </>
        )}
      </Waiting>
    </section>
  );
}

function stepsTable(data: StepsDocument): ReturnType<typeof tableSpec> {
  const order = phaseOrder(data.steps);
  const columns = [
    numberColumn("Step", ""),
    numberColumn("Total", "seconds"),
    ...order.map((name) => numberColumn(phaseName(name), "seconds")),
  ];
  return tableSpec(
    "Time per step",
    columns,
    data.steps.map((row) => [row.step, row.seconds, ...order.map((name) => row.phases[name] ?? 0)]),
  );
}

function Bars({ data }: { data: StepsDocument }): JSX.Element {
  const [hoveredStep, setHoveredStep] = useState<number | null>(null);
  const group = useRef<HTMLDivElement>(null);
  const order = phaseOrder(data.steps);
  const ceiling = stepCeiling(
    data.steps.map((row) => row.seconds),
    data.median_seconds,
  );
  const labeled = labeledBars(data.steps, ceiling);
  const shown = data.steps.find((row) => row.step === hoveredStep) ?? data.steps.at(-1)!;
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const bars = [...(group.current?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
    const next = by && bars[bars.indexOf(document.activeElement as HTMLButtonElement) + by];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    next.focus();
  };
  return (
    <>
      <div class="legend steps" aria-live="off">
        <span class="which">
          Step {formatCount(shown.step)}
          <b>{formatDuration(shown.seconds)}</b>
        </span>
        {order.map((name) => (
          <span key={name}>
            <i class="swatch" style={{ background: `var(${phaseColor(name)})` }} />
            {phaseName(name)}
            <b>{formatDuration(shown.phases[name] ?? 0)}</b>
          </span>
        ))}
      </div>
      <div class="step-plot">
        {data.median_seconds !== null && (
          <div
            class="median"
            style={{ bottom: `${Math.min(100, (data.median_seconds / ceiling) * 100)}%` }}
          >
            <span>median</span>
          </div>
        )}
        <div
          class="step-bars"
          role="group"
          aria-label="Steps. Arrow keys move, Enter shows the step in the charts."
          ref={group}
          onKeyDown={move}
          onPointerLeave={() => setHoveredStep(null)}
        >
          {data.steps.map((row, i) => (
            <Bar
              key={row.step}
              row={row}
              order={order}
              ceiling={ceiling}
              isStop={i === data.steps.length - 1}
              isLabeled={labeled.has(i)}
              onPoint={setHoveredStep}
            />
          ))}
        </div>
      </div>
      <div class="step-axis" aria-hidden="true">
        {data.steps.map((row, i) => (
          <span key={row.step}>
            {namedBars(data.steps.length).includes(i) ? formatCount(row.step) : ""}
          </span>
        ))}
      </div>
    </>
  );
}

type BarProps = {
  row: StepRow;
  order: string[];
  ceiling: number;
  isStop: boolean;
  isLabeled: boolean;
  onPoint: (step: number) => void;
};

function Bar({ row, order, ceiling, isStop, isLabeled, onPoint }: BarProps): JSX.Element {
  const isCut = row.seconds > ceiling;
  const phaseTimes = order
    .filter((name) => row.phases[name])
    .map((name) => `${phaseName(name)} ${formatDuration(row.phases[name]!)}`)
    .join(", ");
  const from = row.start - jobStart.value;
  return (
    <button
      type="button"
      class="step-bar"
      tabIndex={isStop ? 0 : -1}
      aria-label={`Step ${row.step}: ${formatDuration(row.seconds)}; ${phaseTimes}`}
      onPointerEnter={() => onPoint(row.step)}
      onFocus={() => onPoint(row.step)}
      onClick={() => showRange([from, from + row.seconds])}
    >
      {isLabeled && <span class="cut">{formatDuration(row.seconds)}</span>}
      {barSegments(row, order, ceiling)
        .reverse()
        .map(({ name, percent }) => (
          <i key={name} style={{ height: `${percent}%`, background: `var(${phaseColor(name)})` }} />
        ))}
      {isCut && <span class="break" />}
    </button>
  );
}
