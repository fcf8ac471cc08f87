// The training losses of several jobs on one axis, aligned and smoothed by the server.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { getJson, jobPath } from "../api";
import { always, useResource } from "../resource";
import { Waiting } from "../states";
import type { ChartAnswer } from "../views/chart";
import { SpecView } from "../views/spec";

const AXES = { step: "step", time: "time", samples: "samples" };
const SMOOTHING = { 0: "none", 60: "0.6", 90: "0.9", 97: "0.97" };

export function ComparedLosses({
  baseline,
  others,
}: {
  baseline: string;
  others: readonly string[];
}): JSX.Element {
  const [by, setBy] = useState("step");
  const [smoothing, setSmoothing] = useState("0");
  const names = others.join(",");
  const answer = useResource(
    (abort) =>
      getJson<ChartAnswer>(
        jobPath(baseline, "compare", "losses"),
        { others: names, by, smoothing },
        abort,
      ),
    always,
    [baseline, names, by, smoothing],
  );
  return (
    <section class="card wide" aria-label="Training losses">
      <p class="choices">
        <Choice label="Align by" options={AXES} value={by} onChange={setBy} />
        <Choice label="Smoothing" options={SMOOTHING} value={smoothing} onChange={setSmoothing} />
      </p>
      <Waiting
        resource={answer.value}
        empty={({ spec }) => (spec ? null : "No training loss recorded.")}
      >
        {({ spec }) => spec && <SpecView spec={spec} name="compare-training-loss" />}
      </Waiting>
    </section>
  );
}

function Choice({
  label,
  options,
  value,
  onChange,
}: {
  label: string;
  options: Record<string, string>;
  value: string;
  onChange: (value: string) => void;
}): JSX.Element {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {Object.entries(options).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
