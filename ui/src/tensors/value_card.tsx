// The values of a saved tensor: statistics, an image, and a table of one page of values.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { color } from "../colors";
import { formatCount, formatElement, formatPercent } from "../format";
import { exposeChart } from "../inspect";
import { always, useResource } from "../resource";
import { route, setParameters } from "../router";
import { shownTheme } from "../state";
import { Notice, Waiting } from "../states";
import { parseColor } from "../views/heat_colors";
import { pixelsOf } from "./picture";
import {
  loadValue,
  loadValueSteps,
  type TensorInfo,
  type TensorValue,
  type ValueCell,
} from "./source";
import { freshness, mode } from "./state";

const PAGE_ROWS = 40,
  PAGE_COLUMNS = 24;

export function ValueCard({ info }: { info: TensorInfo }): JSX.Element {
  const worker = info.is_shard ? (route.value.parameters.part ?? "0") : "";
  const steps = useResource(
    (signal) => {
      void freshness.value;
      return loadValueSteps(info.name, mode.value, worker, signal);
    },
    always,
    [info.name, worker],
  );
  const savedSteps = steps.value.value?.steps ?? [];
  const requested = Number(route.value.parameters.step ?? NaN);
  const step = savedSteps.includes(requested) ? requested : savedSteps[savedSteps.length - 1];
  return (
    <section
      class="card"
      data-state={steps.value.state}
      data-chart="value-card"
      aria-labelledby="value-title"
    >
      <header>
        <h2 id="value-title">Values</h2>
        <span class="sub tensor-of">
          {info.name} · {info.dtype} {info.shape.join("×") || "scalar"}
          {info.note ? ` · ${info.note}` : ""}
        </span>
        <span class="end">
          {info.is_shard && (
            <label class="choice">
              Shard of worker{" "}
              <input
                type="number"
                min={0}
                value={worker}
                onChange={(event) => setParameters({ part: event.currentTarget.value })}
              />
            </label>
          )}
          {savedSteps.length > 0 && <StepChoice steps={savedSteps} step={step!} />}
        </span>
      </header>
      <Waiting resource={steps.value}>
        {() =>
          step === undefined ? (
            <Notice state="empty">
              No values of this tensor saved. To save them, use:{" "}
              <code>
                sonde run --save {info.collections.find((name) => name !== "all") ?? "weights"}
                :every=100,values …
              </code>
            </Notice>
          ) : (
            <Value
              key={`${info.name} ${step} ${worker}`}
              name={info.name}
              step={step}
              worker={worker}
            />
          )
        }
      </Waiting>
    </section>
  );
}

function StepChoice({ steps, step }: { steps: number[]; step: number }): JSX.Element {
  const index = steps.indexOf(step);
  const go = (to: number): void =>
    setParameters({ step: String(steps[to]), row: null, column: null });
  return (
    <>
      <button
        type="button"
        aria-label="Previous saved step"
        disabled={index <= 0}
        onClick={() => go(index - 1)}
      >
        ◀
      </button>
      <label class="choice">
        Step{" "}
        <select
          value={step}
          onChange={(event) => go(steps.indexOf(Number(event.currentTarget.value)))}
        >
          {steps.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        aria-label="Next saved step"
        disabled={index >= steps.length - 1}
        onClick={() => go(index + 1)}
      >
        ▶
      </button>
    </>
  );
}

function Value({
  name,
  step,
  worker,
}: {
  name: string;
  step: number;
  worker: string;
}): JSX.Element {
  const { row = "0", column = "0" } = route.value.parameters;
  const value = useResource(
    (signal) =>
      loadValue(
        { name, mode: mode.value, step, row: Number(row), column: Number(column), worker },
        signal,
      ),
    always,
    [row, column],
  );
  return (
    <Waiting resource={value.value}>
      {(loaded) => (
        <>
          <Figures value={loaded} />
          <div class="value-parts">
            <Picture value={loaded} />
            <ValueTable value={loaded} />
          </div>
        </>
      )}
    </Waiting>
  );
}

function Figures({ value }: { value: TensorValue }): JSX.Element {
  const { figures } = value;
  const share = (count: number): string =>
    `${formatCount(count)}${count ? ` (${formatPercent((100 * count) / figures.count)})` : ""}`;
  const facts: [string, string][] = [
    ["values", formatCount(figures.count)],
    ["minimum", formatElement(figures.minimum)],
    ["maximum", formatElement(figures.maximum)],
    ["mean", formatElement(figures.mean)],
    ["standard deviation", formatElement(figures.std)],
    ["L2 norm", formatElement(figures.l2_norm)],
    ["zeros", share(figures.zeros)],
    ["NaN", share(figures.nans)],
    ["infinite", share(figures.infinities)],
  ];
  return (
    <dl class="value-facts">
      {facts.map(([title, text]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function Picture({ value }: { value: TensorValue }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { rows, columns, values } = value.picture;
  useEffect(
    () =>
      effect(() => {
        void shownTheme.value;
        const element = canvas.current!;
        element.width = Math.max(1, columns);
        element.height = Math.max(1, rows);
        if (!rows || !columns) return;
        const g = element.getContext("2d")!;
        const image = g.createImageData(columns, rows);
        image.data.set(
          pixelsOf(values, {
            card: parseColor(color("--card")),
            above: parseColor(color("--c1")),
            below: parseColor(color("--c2")),
            wrong: parseColor(color("--c8")),
          }),
        );
        g.putImageData(image, 0, 0);
      }),
    [value],
  );
  useEffect(() => exposeChart("tensor-value", () => value), [value]);
  const isExact = rows === value.rows && columns === value.columns;
  return (
    <figure class="value-picture" data-chart="tensor-value">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Image of ${value.name} at step ${value.step}, ${value.rows} rows and ${value.columns} columns. The table lists the values.`}
      />
      <figcaption class="sub">
        <span>
          <i class="swatch above" />
          positive
        </span>
        <span>
          <i class="swatch below" />
          negative
        </span>
        {value.shape.length > 2 && <span>columns combine all dimensions except the first</span>}
        <span>
          {isExact
            ? "one pixel per value"
            : "each pixel shows the value with the largest magnitude"}
        </span>
      </figcaption>
    </figure>
  );
}

const cell = (value: ValueCell): string =>
  typeof value === "number" ? formatElement(value) : value;

/** Rows are the first dimension, columns all other dimensions. */
function ValueTable({ value }: { value: TensorValue }): JSX.Element {
  const { row, column, values } = value.table;
  const go = (to: { row: number; column: number }): void =>
    setParameters({
      row: to.row > 0 ? String(to.row) : null,
      column: to.column > 0 ? String(to.column) : null,
    });
  const lastRow = row + values.length,
    lastColumn = column + (values[0]?.length ?? 0);
  return (
    <div class="value-table">
      <p class="value-pages">
        <span class="sub">
          Rows {row}–{Math.max(row, lastRow - 1)} of {formatCount(value.rows)}
        </span>
        <button
          type="button"
          aria-label="Previous rows"
          disabled={row === 0}
          onClick={() => go({ row: Math.max(0, row - PAGE_ROWS), column })}
        >
          ▲
        </button>
        <button
          type="button"
          aria-label="Next rows"
          disabled={lastRow >= value.rows}
          onClick={() => go({ row: lastRow, column })}
        >
          ▼
        </button>
        <span class="sub">
          Columns {column}–{Math.max(column, lastColumn - 1)} of {formatCount(value.columns)}
        </span>
        <button
          type="button"
          aria-label="Previous columns"
          disabled={column === 0}
          onClick={() => go({ row, column: Math.max(0, column - PAGE_COLUMNS) })}
        >
          ◀
        </button>
        <button
          type="button"
          aria-label="Next columns"
          disabled={lastColumn >= value.columns}
          onClick={() => go({ row, column: lastColumn })}
        >
          ▶
        </button>
      </p>
      <div class="scroll-both" role="region" aria-label="Values" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span class="sub">Row</span>
              </th>
              {(values[0] ?? []).map((_, i) => (
                <th key={i} scope="col" class="r">
                  {column + i}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {values.map((line, i) => (
              <tr key={i}>
                <th scope="row">{row + i}</th>
                {line.map((value, k) => (
                  <td key={k} class="r">
                    {cell(value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
