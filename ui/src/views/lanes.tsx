// Time spans in lanes.

import { formatDuration } from "../format";
import type { LanesSpec } from "../generated/chart_specs";
import { jobTicks, jobTime } from "../time_axis";
import { toneColor } from "../tones";

const TICKS = 8;

/** A row per lane on the time axis of the job. */
export function Lanes({ spec }: { spec: LanesSpec }) {
  const length = spec.end - spec.start || 1;
  const leftOf = (at: number): string => `${((at - spec.start) / length) * 100}%`;
  return (
    <div class="lanes">
      <ul>
        {spec.lanes.map((lane) => (
          <li key={lane.label}>
            <span class="label">{lane.label}</span>
            <span class="track">
              {lane.spans.map((span, index) => (
                <i
                  key={`${span.start} ${index}`}
                  class={span.tone === "interruption" ? "gap" : ""}
                  title={`${span.label}: ${jobTime(span.start)} – ${jobTime(span.end)}, ${formatDuration(span.end - span.start)}`}
                  style={{
                    left: leftOf(span.start),
                    width: `${((span.end - span.start) / length) * 100}%`,
                    background: toneColor(span.tone, index),
                  }}
                />
              ))}
            </span>
          </li>
        ))}
      </ul>
      <div class="axis" aria-hidden="true">
        {jobTicks(spec.start, spec.end, TICKS).map((tick) => (
          <span key={tick.at} style={{ left: leftOf(tick.at) }}>
            {tick.label}
          </span>
        ))}
      </div>
    </div>
  );
}
