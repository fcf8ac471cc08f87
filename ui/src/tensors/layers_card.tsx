// One number of every layer over steps, so that vanishing and dead layers are seen at a glance.

import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatValue } from "../format";
import { always, useResource } from "../resource";
import { setParameters } from "../router";
import { Waiting } from "../states";
import { type PickColumn, PickTable } from "../timeline/pick_table";
import { LayersHeat } from "../views/layers_heat";
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
  statisticWords,
} from "./state";
import { usualCollection } from "./usual";

const MOST = 10_000;
const FIRST = [
  "l2_norm",
  "zero_fraction",
  "update_ratio",
  "abs_mean",
  "std",
  "abs_max",
  "nan_count",
];

/** What the statistic is called among such tensors. */
function titleOf(reduction: string, of: string): string {
  if (of === "gradients" && reduction === "l2_norm") return "gradient norm";
  return statisticWords(reduction);
}

export function LayersCard({ names }: { names: TensorNames }): JSX.Element {
  const [isTable, setTable] = useState(false);
  const of = useComputed(() => collection.value || usualCollection(names));
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
    ...names.reductions.filter((one) => !FIRST.includes(one) && one !== "prod"),
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
          show{" "}
          <select
            value={reduction.value}
            onChange={(event) => setParameters({ stat: event.currentTarget.value })}
          >
            {order.map((one) => (
              <option key={one} value={one}>
                {titleOf(one, of.value)}
              </option>
            ))}
          </select>
        </label>
        <label class="choice">
          of{" "}
          <select
            value={of.value}
            onChange={(event) => setParameters({ collection: event.currentTarget.value })}
          >
            {names.collections.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name.replaceAll("_", " ")} ({formatCount(one.count)})
              </option>
            ))}
          </select>
        </label>
        {reduction.value === "update_ratio" && (
          <span class="sub">
            how far a tensor moved since the step recorded before, at least, by its norm
          </span>
        )}
        <span class="end">
          <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            as table
          </button>
        </span>
      </header>
      <Waiting
        resource={layers.value}
        empty={(value) =>
          value.steps.length
            ? null
            : `Nothing of this was recorded in ${mode.value}. Choose another collection, or record it: sonde run --save ${of.value || "gradients"}:every=10 …`
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
          {shown.total > MOST
            ? `The first ${formatCount(MOST)} of ${formatCount(shown.total)} tensors; find by name shows fewer.`
            : `${formatCount(shown.total - shown.names.length)} of ${formatCount(shown.total)} tensors have nothing of this recorded in ${mode.value}.`}
        </p>
      )}
      {shown && shown.merged > 1 && (
        <p class="sub">Each column is the mean of {shown.merged} recorded steps.</p>
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
    number("Least", "low"),
    number("Largest", "high"),
    { title: "Found by rules", value: (row) => row.rules },
  ];
  return (
    <PickTable
      label={`${statisticWords(layers.reduction)} of every tensor`}
      rows={rows}
      columns={columns}
      onPick={(row) => chooseTensor(row.name, false)}
      isPicked={(row) => chosenNames.value.includes(row.name)}
    />
  );
}
