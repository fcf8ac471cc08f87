// A statistic of the selected tensors over steps.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Curve, LineChartSpec } from "../generated/chart_specs";
import { always, useResource } from "../resource";
import { setParameters } from "../router";
import { Waiting } from "../states";
import { SpecView } from "../views/spec";
import type { Statistics, TensorNames, TensorSeries } from "./source";
import { loadStatistics } from "./source";
import { chosenNames, curveStatistic, freshness, mode, statisticLabel } from "./state";

/** Curves over the union of their steps. */
export function lineOf(statistics: Statistics): LineChartSpec {
  const steps = [...new Set(statistics.series.flatMap((series) => series.steps))].sort(
    (a, b) => a - b,
  );
  const indices = new Map(steps.map((step, i) => [step, i]));
  const align = (
    series: TensorSeries,
    values: readonly (number | null)[] | undefined,
  ): (number | null)[] | null => {
    if (!values) return null;
    const row = new Array<number | null>(steps.length).fill(null);
    series.steps.forEach((step, i) => {
      row[indices.get(step)!] = values[i] ?? null;
    });
    return row;
  };
  const hasSeveralWorkers = new Set(statistics.series.map((series) => series.worker)).size > 1;
  const curves: Curve[] = statistics.series
    .filter((series) => series.steps.length)
    .map((series) => ({
      label:
        hasSeveralWorkers && series.worker !== null
          ? `${series.name} (worker ${series.worker})`
          : series.name,
      values: align(series, series.values)!,
      low: align(series, series.low),
      high: align(series, series.high),
      tone: "",
      has_markers: false,
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
  const loaded = statistics.value.value;
  const spec = useMemo(() => (loaded ? lineOf(loaded) : null), [loaded]);
  const options = names.reductions.filter((name) => name !== "update_ratio");
  const choice = (
    <label class="choice">
      <select
        aria-label="Statistic"
        value={curveStatistic.value}
        onChange={(event) => setParameters({ curve: event.currentTarget.value })}
      >
        {options.map((name) => (
          <option key={name} value={name}>
            {statisticLabel(name)}
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
          value.series.some((series) => series.steps.length)
            ? null
            : `No statistics recorded in ${mode.value} mode.`
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
