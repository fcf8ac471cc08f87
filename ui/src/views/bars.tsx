// A bar per label with its value.

import { useState } from "preact/hooks";
import { cellText } from "../cells";
import { formatCount } from "../format";
import type { BarsSpec } from "../generated/chart_specs";
import { toneColor } from "../tones";
import { Legend } from "./legend";

const FIRST_BARS = 16;

/** Horizontal bars; several series are drawn below each other. */
export function Bars({ spec }: { spec: BarsSpec }) {
  const [isExpanded, setExpanded] = useState(false);
  const shown =
    isExpanded || spec.labels.length <= FIRST_BARS + 2
      ? spec.labels
      : spec.labels.slice(0, FIRST_BARS);
  const values = spec.parts.flatMap((series) => series.values.map((value) => value ?? 0));
  const longest = Math.max(...values, 0) || 1;
  return (
    <div class="bar-chart">
      <Legend entries={spec.parts} />
      <ul>
        {shown.map((label, row) => (
          <li key={`${row} ${label}`}>
            <span class="label" title={label}>
              {label}
            </span>
            <span class="lines">
              {spec.parts.map((series, index) => {
                const value = series.values[row] ?? null;
                return (
                  <span class="line" key={series.label}>
                    <span class="track">
                      <i
                        style={{
                          width: `${(Math.max(0, value ?? 0) / longest) * 100}%`,
                          background: toneColor(series.tone, index),
                        }}
                      />
                    </span>
                    <b>{cellText(value, spec.unit)}</b>
                  </span>
                );
              })}
            </span>
          </li>
        ))}
      </ul>
      {shown.length < spec.labels.length && (
        <button type="button" class="quiet" onClick={() => setExpanded(true)}>
          Show all {formatCount(spec.labels.length)}
        </button>
      )}
    </div>
  );
}
