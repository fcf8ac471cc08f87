// Bars made of parts that add up: what share each part has.

import { cellText } from "../cells";
import type { StackedBarsSpec } from "../specs";
import { toneColor } from "../tones";
import { Legend } from "./legend";
import { stackOf } from "./stack";

/** A bar per label, lying or standing. */
export function StackedBars({ spec }: { spec: StackedBarsSpec }) {
  const sums = spec.labels.map((_, row) =>
    spec.parts.reduce((sum, part) => sum + Math.max(0, part.values[row] ?? 0), 0),
  );
  const most = Math.max(...sums, 0) || 1;
  return (
    <div class={spec.is_horizontal ? "bar-chart" : "column-chart"}>
      {spec.labels.length === 1 ? (
        <Parts spec={spec} whole={sums[0] ?? 0} />
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
            <Stack spec={spec} row={row} most={most} />
            <b>{cellText(sums[row] ?? null, spec.unit)}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Of a single bar: each part with its share and its size. */
function Parts({ spec, whole }: { spec: StackedBarsSpec; whole: number }) {
  return (
    <div class="legend parts">
      {spec.parts.map(({ label, tone, values }, place) => {
        const value = values[0] ?? 0;
        return (
          <span key={label}>
            <i class="swatch" style={{ background: toneColor(tone, place) }} />
            {label} <b>{cellText(whole ? (value / whole) * 100 : 0, "percent")}</b>
            {spec.unit !== "percent" && ` ${cellText(value, spec.unit)}`}
          </span>
        );
      })}
    </div>
  );
}

function Stack({ spec, row, most }: { spec: StackedBarsSpec; row: number; most: number }) {
  const side = spec.is_horizontal ? "width" : "height";
  return (
    <span class="track stack">
      {stackOf(spec.parts, row, most).map(({ label, tone, value, percent, place }) => (
        <i
          key={label}
          title={`${label}: ${cellText(value, spec.unit)}`}
          style={{ [side]: `${percent}%`, background: toneColor(tone, place) }}
        />
      ))}
    </span>
  );
}
