// The distribution of a tensor's values over steps.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { formatPercent, formatValue } from "../format";
import { always, useResource } from "../resource";
import { setParameters } from "../router";
import { Waiting } from "../states";
import { type PickColumn, PickTable } from "../timeline/pick_table";
import { Distribution } from "../views/ridge";
import { linearBins, quantileAt, sharesAt } from "./bins";
import { type Histograms, loadHistograms } from "./source";
import { binning, freshness, mode, shape } from "./state";

export function DistributionCard({ name }: { name: string }): JSX.Element {
  const [isTable, setTable] = useState(false);
  const histograms = useResource(
    (signal) => {
      void freshness.value;
      return loadHistograms(name, mode.value, signal);
    },
    always,
    [name],
  );
  const choice = (value: "ridge" | "heat", label: string): JSX.Element => (
    <button
      type="button"
      aria-pressed={!isTable && shape.value === value}
      onClick={() => {
        setTable(false);
        setParameters({ shape: value === "heat" ? null : value });
      }}
    >
      {label}
    </button>
  );
  return (
    <section
      class="card"
      data-state={histograms.value.state}
      data-chart="distribution-card"
      aria-labelledby="distribution-title"
    >
      <header>
        <h2 id="distribution-title">Distribution of values</h2>
        <span class="sub tensor-of">{name}</span>
        <span class="end">
          <label class="choice">
            Bins{" "}
            <select
              value={binning.value}
              onChange={(event) =>
                setParameters({ bins: event.currentTarget.value === "log" ? "log" : null })
              }
            >
              <option value="linear">linear</option>
              <option value="log">logarithmic</option>
            </select>
          </label>
          {choice("heat", "Heatmap")}
          {choice("ridge", "Ridges")}
          <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            Table
          </button>
        </span>
      </header>
      <Waiting
        resource={histograms.value}
        empty={(value) =>
          value.steps.length
            ? null
            : `No histograms of this tensor recorded in ${mode.value} mode. To record them, use: sonde run --save weights:every=10,histogram …`
        }
      >
        {(value) => (isTable ? <QuantileTable data={value} /> : <Shown data={value} />)}
      </Waiting>
    </section>
  );
}

const BINS = 64;

function Shown({ data }: { data: Histograms }): JSX.Element {
  const shown = useMemo(
    () => (binning.value === "log" ? data : linearBins(data, BINS)),
    [data, binning.value],
  );
  if (shown.edges.length < 2)
    return <p class="sub">All finite values are exactly zero at every recorded step.</p>;
  return <Distribution data={shown} shape={shape.value} />;
}

function QuantileTable({ data }: { data: Histograms }): JSX.Element {
  const rows = data.steps.map((step, row) => ({ step, row }));
  type Row = (typeof rows)[number];
  const quantile = (title: string, fraction: number): PickColumn<Row> => ({
    title,
    isNumber: true,
    value: ({ row }) => quantileAt(data, row, fraction),
    show: ({ row }) => formatValue(quantileAt(data, row, fraction), ""),
  });
  const columns: PickColumn<Row>[] = [
    { title: "Step", isNumber: true, value: ({ step }) => step },
    quantile("p1", 0.01),
    quantile("p5", 0.05),
    quantile("p25", 0.25),
    quantile("Median", 0.5),
    quantile("p75", 0.75),
    quantile("p95", 0.95),
    quantile("p99", 0.99),
    {
      title: "Zeros",
      isNumber: true,
      value: ({ row }) => sharesAt(data, row).zeros,
      show: ({ row }) => formatPercent(100 * sharesAt(data, row).zeros),
    },
  ];
  return <PickTable label={`Quantiles of ${data.name}`} rows={rows} columns={columns} />;
}
