// A number of the chosen tensors over steps, drawn together.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { always, useResource } from "../resource";
import { setParameters } from "../router";
import type { Curve, LineSpec } from "../specs";
import { Waiting } from "../states";
import { SpecView } from "../views/spec";
import type { Statistics, TensorNames, TensorSeries } from "./source";
import { loadStatistics } from "./source";
import { chosenNames, curveStatistic, freshness, mode, statisticWords } from "./state";

/** Curves over the steps that any of them has. */
export function lineOf(found: Statistics): LineSpec {
  const steps = [...new Set(found.series.flatMap((one) => one.steps))].sort((a, b) => a - b);
  const places = new Map(steps.map((step, i) => [step, i]));
  const spread = (
    one: TensorSeries,
    values: readonly (number | null)[] | undefined,
  ): (number | null)[] | null => {
    if (!values) return null;
    const row = new Array<number | null>(steps.length).fill(null);
    one.steps.forEach((step, i) => {
      row[places.get(step)!] = values[i] ?? null;
    });
    return row;
  };
  const several = new Set(found.series.map((one) => one.worker)).size > 1;
  const curves: Curve[] = found.series
    .filter((one) => one.steps.length)
    .map((one) => ({
      label: several && one.worker !== null ? `${one.name} (worker ${one.worker})` : one.name,
      values: spread(one, one.values)!,
      low: spread(one, one.low),
      high: spread(one, one.high),
      tone: "",
    }));
  return {
    mark: "line",
    title: "",
    note: "",
    coarsened: "",
    x: steps,
    x_title: "step",
    x_unit: "",
    unit: "",
    curves,
    is_logarithmic: false,
    low: null,
    high: null,
  };
}

export function CurvesCard({ names }: { names: TensorNames }): JSX.Element {
  const statistics = useResource((signal) => {
    void freshness.value;
    return loadStatistics(chosenNames.value, curveStatistic.value, mode.value, signal);
  }, always);
  const found = statistics.value.value;
  const spec = useMemo(() => (found ? lineOf(found) : null), [found]);
  const options = names.reductions.filter((one) => one !== "update_ratio");
  const choice = (
    <label class="choice">
      <select
        aria-label="Statistic"
        value={curveStatistic.value}
        onChange={(event) => setParameters({ curve: event.currentTarget.value })}
      >
        {options.map((one) => (
          <option key={one} value={one}>
            {statisticWords(one)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section class="card" data-state={statistics.value.state} aria-label="Statistics over steps">
      <Waiting
        resource={statistics.value}
        empty={(value) =>
          value.series.some((one) => one.steps.length)
            ? null
            : `No statistics of this were recorded in ${mode.value}.`
        }
      >
        {() =>
          spec ? (
            <SpecView spec={spec} name="tensor-curves" title="Statistic over steps" more={choice} />
          ) : null
        }
      </Waiting>
    </section>
  );
}
