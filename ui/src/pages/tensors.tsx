// The Tensors page: all layers as a heatmap, and details of the selected tensors.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { pluralize } from "../format";
import { always, useResource } from "../resource";
import { setParameters } from "../router";
import { job } from "../state";
import { Notice, Waiting } from "../states";
import { CurvesCard } from "../tensors/curves_card";
import { DistributionCard } from "../tensors/distribution_card";
import { LayersCard } from "../tensors/layers_card";
import { NameList } from "../tensors/name_list";
import { loadNames, type TensorInfo, type TensorNames } from "../tensors/source";
import { chooseTensor, chosenNames, freshness, mode, modes, tensorNames } from "../tensors/state";
import "../tensors/tensors.css";
import "../timeline/timeline.css";
import { ValueCard } from "../tensors/value_card";

export function TensorsPage(): JSX.Element {
  const names = useResource(async (signal) => {
    void freshness.value;
    const names = await loadNames(signal);
    if (names.total !== tensorNames.peek()?.total) tensorNames.value = names;
    return names;
  }, always);
  useEffect(
    () => () => {
      tensorNames.value = null;
    },
    [],
  );
  return (
    <Waiting resource={names.value}>
      {(loaded) => (loaded.tensors.length ? <TensorCards names={loaded} /> : <Nothing />)}
    </Waiting>
  );
}

function Nothing(): JSX.Element {
  return (
    <section class="card">
      <Notice state="empty">
        {job.value?.not_seen && <p>{job.value.not_seen}</p>}
        No tensors recorded. Sonde records statistics of the weights, gradients and activations of
        PyTorch models automatically. To choose what to record, use{" "}
        <code>sonde run --save gradients:every=10 --save weights:every=100,values …</code>
      </Notice>
    </section>
  );
}

function TensorCards({ names }: { names: TensorNames }): JSX.Element {
  const byName = new Map(names.tensors.map((tensor) => [tensor.name, tensor]));
  const chosen = chosenNames.value
    .map((name) => byName.get(name))
    .filter((tensor): tensor is TensorInfo => tensor !== undefined);
  const missing = chosenNames.value.filter((name) => !byName.has(name));
  const last = chosen[chosen.length - 1];
  return (
    <div class="tensors" data-state="ready">
      {modes.value.length > 1 && <ModeChoice />}
      <LayersCard names={names} />
      <div class="tensors-below">
        <NameList names={names} />
        <div class="tensor-cards">
          {missing.length > 0 && (
            <section class="card">
              <Notice state="empty">Not recorded: {missing.join(", ")}.</Notice>
            </section>
          )}
          {last && (
            <>
              <Chosen tensors={chosen} />
              <CurvesCard names={names} />
              <DistributionCard key={last.name} name={last.name} />
              <ValueCard info={last} />
            </>
          )}
        </div>
      </div>
    </div>
  );
}

function Chosen({ tensors }: { tensors: readonly TensorInfo[] }): JSX.Element | null {
  if (tensors.length < 2) return null;
  return (
    <ul class="chosen" aria-label="Selected tensors">
      {tensors.map((tensor) => (
        <li key={tensor.name}>
          <button
            type="button"
            onClick={() => chooseTensor(tensor.name, true)}
            aria-label={`Remove ${tensor.name}`}
          >
            {tensor.name} ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function ModeChoice(): JSX.Element {
  return (
    <label class="choice mode-choice">
      Mode{" "}
      <select
        value={mode.value}
        onChange={(event) =>
          setParameters({
            mode: event.currentTarget.value === "train" ? null : event.currentTarget.value,
          })
        }
      >
        {modes.value.map((option) => (
          <option key={option} value={option}>
            {option} ({pluralize(job.value?.steps[option] ?? 0, "step")})
          </option>
        ))}
      </select>
    </label>
  );
}
