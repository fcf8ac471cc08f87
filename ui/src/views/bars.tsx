// A bar per label, with its value beside it.

import { useState } from "preact/hooks";
import { cellText } from "../cells";
import type { BarsSpec } from "../specs";
import { toneColor } from "../tones";
import { Legend } from "./legend";

const FIRST_BARS = 16;

/** Bars from the left; several parts lie below each other. */
export function Bars({ spec }: { spec: BarsSpec }) {
  const [isWhole, setWhole] = useState(false);
  const shown =
    isWhole || spec.labels.length <= FIRST_BARS + 2
      ? spec.labels
      : spec.labels.slice(0, FIRST_BARS);
  const known = spec.parts.flatMap((part) => part.values.map((value) => value ?? 0));
  const most = Math.max(...known, 0) || 1;
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
      {shown.length < spec.labels.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {spec.labels.length}
        </button>
      )}
    </div>
  );
}
