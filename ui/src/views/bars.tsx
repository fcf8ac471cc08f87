// A bar per label, with its value beside it.

import { cellText } from "../cells";
import type { BarsSpec } from "../specs";
import { toneColor } from "../tones";
import { Legend } from "./legend";

/** Bars from the left; several parts lie below each other. */
export function Bars({ spec }: { spec: BarsSpec }) {
  const known = spec.parts.flatMap((part) => part.values.map((value) => value ?? 0));
  const most = Math.max(...known, 0) || 1;
  return (
    <div class="bar-chart">
      <Legend entries={spec.parts} />
      <ul>
        {spec.labels.map((label, row) => (
          <li key={`${row} ${label}`}>
            <span class="label" title={label}>
              {label}
            </span>
            <span class="lines">
              {spec.parts.map((part, place) => {
                const value = part.values[row] ?? null;
                return (
                  <span class="line" key={part.label}>
                    <span class="track">
                      <i
                        style={{
                          width: `${(Math.max(0, value ?? 0) / most) * 100}%`,
                          background: toneColor(part.tone, place),
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
    </div>
  );
}
