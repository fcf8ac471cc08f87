// A histogram whose groups can be hidden.

import { useState } from "preact/hooks";
import { cellText } from "../cells";
import { formatValue } from "../format";
import type { HistogramSpec } from "../generated/chart_specs";
import { niceTicks } from "../ticks";
import { toneColor } from "../tones";
import { binsFor, highestCount, outline } from "./bins";
import { Legend, toggled } from "./legend";

const MAX_BINS = 60;
const MAX_FILLED = 2; // more filled groups would hide each other

/** Bars between bin edges; several groups are drawn over each other. */
export function Histogram({ spec }: { spec: HistogramSpec }) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [read, setRead] = useState("");
  const bins = binsFor(spec.edges, spec.parts, MAX_BINS);
  const highest = highestCount(bins, (label) => !hidden.has(label));
  const [first, last] = [bins.edges[0] ?? 0, bins.edges[bins.edges.length - 1] ?? 1];
  const x = (value: number) => ((value - first) / (last - first || 1)) * 100;
  return (
    <div class="histogram">
      <Legend
        entries={spec.parts}
        hidden={hidden}
        onToggle={(label) => setHidden(toggled(hidden, label))}
      />
      <p class="hist-read">{read || `Highest bin: ${formatValue(highest, "")} ${spec.counted}`}</p>
      <svg
        viewBox="0 0 100 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${spec.title}: ${spec.counted} by value`}
        onMouseLeave={() => setRead("")}
      >
        {bins.groups.map((group, index) =>
          hidden.has(group.label) ? null : (
            <path
              key={group.label}
              class={
                bins.groups.length > MAX_FILLED ? "outline" : bins.groups.length > 1 ? "over" : ""
              }
              d={outline(bins.edges, group.counts, highest, x)}
              style={{ "--tone": toneColor(group.tone, index) }}
            />
          ),
        )}
        {bins.edges.slice(0, -1).map((edge, bin) => (
          <rect
            key={edge}
            class="catch"
            x={x(edge)}
            width={Math.max(0, x(bins.edges[bin + 1] ?? 0) - x(edge))}
            y="0"
            height="100"
            onMouseEnter={() => setRead(binLabel(bins, bin, spec))}
          />
        ))}
      </svg>
      <div class="axis" aria-hidden="true">
        {niceTicks(first, last, 6).map((tick) => (
          <span key={tick} style={{ left: `${x(tick)}%` }}>
            {cellText(tick, spec.unit)}
          </span>
        ))}
      </div>
    </div>
  );
}

function binLabel(bins: ReturnType<typeof binsFor>, bin: number, spec: HistogramSpec): string {
  const from = cellText(bins.edges[bin] ?? null, spec.unit);
  const to = cellText(bins.edges[bin + 1] ?? null, spec.unit);
  const counts = bins.groups.map((group) =>
    bins.groups.length > 1
      ? `${group.label} ${formatValue(group.counts[bin], "")}`
      : formatValue(group.counts[bin], ""),
  );
  return `${from} – ${to}: ${counts.join(", ")} ${spec.counted}`;
}
