// Stacked bars with the share of each series.

import { cellText } from "../cells";
import type { StackedBarsSpec } from "../generated/chart_specs";
import { toneColor } from "../tones";
import { Legend } from "./legend";
import { stackOf } from "./stack";

/** A horizontal or vertical bar per label. */
export function StackedBars({ spec }: { spec: StackedBarsSpec }) {
  const sums = spec.labels.map((_, row) =>
    spec.parts.reduce((sum, series) => sum + Math.max(0, series.values[row] ?? 0), 0),
  );
  const longest = Math.max(...sums, 0) || 1;
  return (
    <div class={spec.is_horizontal ? "bar-chart" : "column-chart"}>
      {spec.labels.length === 1 ? (
        <ShareLegend spec={spec} total={sums[0] ?? 0} />
      ) : (
        <Legend entries={spec.parts} />
      )}
      <ul>
        {spec.labels.map((label, row) => (
          <li key={`${row} ${label}`}>
            {label && spec.labels.length > 1 && (
              <span class="label" title={label}>
                {label}
              </span>
            )}
            <Stack spec={spec} row={row} longest={longest} />
            <b>{cellText(sums[row] ?? null, spec.unit)}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The legend of a single bar: each series with its share and value. */
function ShareLegend({ spec, total }: { spec: StackedBarsSpec; total: number }) {
  return (
    <div class="legend parts">
      {spec.parts.map(({ label, tone, values }, index) => {
        const value = values[0] ?? 0;
        return (
          <span key={label}>
            <i class="swatch" style={{ background: toneColor(tone, index) }} />
            {label} <b>{cellText(total ? (value / total) * 100 : 0, "percent")}</b>
            {spec.unit !== "percent" && ` ${cellText(value, spec.unit)}`}
          </span>
        );
      })}
    </div>
  );
}

function Stack({ spec, row, longest }: { spec: StackedBarsSpec; row: number; longest: number }) {
  const side = spec.is_horizontal ? "width" : "height";
  return (
    <span class="track stack">
      {stackOf(spec.parts, row, longest).map(({ label, tone, value, percent, index }) => (
        <i
          key={label}
          title={`${label}: ${cellText(value, spec.unit)}`}
          style={{ [side]: `${percent}%`, background: toneColor(tone, index) }}
        />
      ))}
    </span>
  );
}
