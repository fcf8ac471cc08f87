// A statistic of every layer over steps; makes vanishing and dead layers visible.

import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatValue, pluralize } from "../format";
import { always, useResource } from "../resource";
import { setParameters } from "../router";
import { Waiting } from "../states";
import { type PickColumn, PickTable } from "../timeline/pick_table";
import { LayersHeat } from "../views/layers_heat";
import { defaultCollection } from "./defaults";
import { rowFigures } from "./heat_scale";
import { type Layers, loadLayers, type TensorNames } from "./source";
import {
  chooseTensor,
  chosenNames,
  collection,
  freshness,
  mode,
  search,
  statistic,
  statisticLabel,
} from "./state";

const MAX_TENSORS = 10_000;
const FIRST = [
  "l2_norm",
  "zero_fraction",
  "update_ratio",
  "abs_mean",
  "std",
  "abs_max",
  "nan_count",
];

/** The label of a statistic in a collection. */
function titleOf(reduction: string, of: string): string {
  if (of === "gradients" && reduction === "l2_norm") return "gradient norm";
  return statisticLabel(reduction);
}

export function LayersCard({ names }: { names: TensorNames }): JSX.Element {
  const [isTable, setTable] = useState(false);
  const of = useComputed(() => collection.value || defaultCollection(names));
  const reduction = useComputed(() => statistic.value || "l2_norm");
  const layers = useResource((signal) => {
    void freshness.value;
    return loadLayers(
      { collection: of.value, reduction: reduction.value, mode: mode.value, search: search.value },
      600,
      signal,
    );
  }, always);
  const shown = layers.value.value;
  const order = [
    ...FIRST,
    ...names.reductions.filter((name) => !FIRST.includes(name) && name !== "prod"),
  ];
  return (
    <section
      class="card"
      data-state={layers.value.state}
      data-chart="layers-card"
      aria-labelledby="layers-title"
    >
      <header>
        <h2 id="layers-title">Layers over steps</h2>
        <label class="choice">
          Statistic{" "}
          <select
            value={reduction.value}
            onChange={(event) => setParameters({ stat: event.currentTarget.value })}
          >
            {order.map((name) => (
              <option key={name} value={name}>
                {titleOf(name, of.value)}
              </option>
            ))}
          </select>
        </label>
        <label class="choice">
          Collection{" "}
          <select
            value={of.value}
            onChange={(event) => setParameters({ collection: event.currentTarget.value })}
          >
            {names.collections.map((option) => (
              <option key={option.name} value={option.name}>
                {option.name.replaceAll("_", " ")} ({formatCount(option.count)})
              </option>
            ))}
          </select>
        </label>
        {reduction.value === "update_ratio" && (
          <span class="sub">
            Lower bound of the relative change since the previous recorded step, computed from norms
          </span>
        )}
        <span class="end">
          <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            Table
          </button>
        </span>
      </header>
      <Waiting
        resource={layers.value}
        empty={(value) =>
          value.steps.length
            ? null
            : `Not recorded in ${mode.value} mode. Select another collection, or record this one: sonde run --save ${of.value || "gradients"}:every=10 …`
        }
      >
        {(value) =>
          isTable ? (
            <LayersTable layers={value} />
          ) : (
            <LayersHeat layers={value} chosen={chosenNames.value} onChoose={chooseTensor} />
          )
        }
      </Waiting>
      {shown && shown.total > shown.names.length && (
        <p class="sub">
          {shown.total > MAX_TENSORS
            ? `Showing the first ${formatCount(MAX_TENSORS)} of ${formatCount(shown.total)} tensors. Search by name to narrow the list.`
            : `${formatCount(shown.total - shown.names.length)} of ${pluralize(shown.total, "tensor")} not recorded in ${mode.value} mode.`}
        </p>
      )}
      {shown && shown.merged > 1 && (
        <p class="sub">Each column is the mean of {pluralize(shown.merged, "recorded step")}.</p>
      )}
    </section>
  );
}

function LayersTable({ layers }: { layers: Layers }): JSX.Element {
  type Row = {
    name: string;
    first: number;
    last: number;
    low: number;
    high: number;
    rules: string;
  };
  const rows: Row[] = layers.names.map((name, row) => ({
    name,
    ...rowFigures(layers.values, row, layers.steps.length),
    rules: (layers.marks[name] ?? []).map((mark) => mark.rule).join(", "),
  }));
  const number = (title: string, key: "first" | "last" | "low" | "high"): PickColumn<Row> => ({
    title,
    isNumber: true,
    value: (row) => row[key],
    show: (row) => formatValue(row[key], ""),
  });
  const columns: PickColumn<Row>[] = [
    { title: "Tensor", value: (row) => row.name },
    number("First", "first"),
    number("Last", "last"),
    number("Min", "low"),
    number("Max", "high"),
    { title: "Findings", value: (row) => row.rules },
  ];
  return (
    <PickTable
      label={`${statisticLabel(layers.reduction)} of every tensor`}
      rows={rows}
      columns={columns}
      onPick={(row) => chooseTensor(row.name, false)}
      isPicked={(row) => chosenNames.value.includes(row.name)}
    />
  );
}
