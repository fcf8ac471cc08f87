// The page "Tensors": layers at a glance, then any of them in depth.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { always, useResource } from "../resource";
import { setParameters } from "../router";
import { job } from "../state";
import { Notice, Waiting } from "../states";
import { CurvesCard } from "../tensors/curves_card";
import { DistributionCard } from "../tensors/distribution_card";
import { LayersCard } from "../tensors/layers_card";
import { NameList } from "../tensors/name_list";
import { loadNames, type TensorInfo, type TensorNames } from "../tensors/source";
import { chooseTensor, chosenNames, freshness, knownNames, mode, modes } from "../tensors/state";
import "../tensors/tensors.css";
import "../timeline/timeline.css";
import { ValueCard } from "../tensors/value_card";

export function TensorsPage(): JSX.Element {
  const names = useResource(async (signal) => {
    void freshness.value;
    const found = await loadNames(signal);
    if (found.total !== knownNames.peek()?.total) knownNames.value = found;
    return found;
  }, always);
  useEffect(
    () => () => {
      knownNames.value = null;
    },
    [],
  );
  return (
    <Waiting resource={names.value}>
      {(found) => (found.tensors.length ? <Everything names={found} /> : <Nothing />)}
    </Waiting>
  );
}

function Nothing(): JSX.Element {
  return (
    <section class="card">
      <Notice state="empty">
        {job.value?.not_seen && <p>{job.value.not_seen}</p>}
        No tensors were recorded. Sonde keeps statistics of weights, gradients and activations of a
        PyTorch model by itself once it trains; what is kept is chosen with{" "}
        <code>sonde run --save gradients:every=10 --save weights:every=100,values …</code>
      </Notice>
    </section>
  );
}

function Everything({ names }: { names: TensorNames }): JSX.Element {
  const known = new Map(names.tensors.map((one) => [one.name, one]));
  const chosen = chosenNames.value
    .map((name) => known.get(name))
    .filter((one): one is TensorInfo => one !== undefined);
  const missing = chosenNames.value.filter((name) => !known.has(name));
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
              <Notice state="empty">Nothing was recorded of {missing.join(", ")}.</Notice>
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
    <ul class="chosen" aria-label="Chosen tensors">
      {tensors.map((one) => (
        <li key={one.name}>
          <button
            type="button"
            onClick={() => chooseTensor(one.name, true)}
            aria-label={`Take ${one.name} away`}
          >
            {one.name} ×
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
        {modes.value.map((one) => (
          <option key={one} value={one}>
            {one} ({job.value?.steps[one]} steps)
          </option>
        ))}
      </select>
    </label>
  );
}
