// How often values fell where; parts can be switched off.

import { useState } from "preact/hooks";
import { cellText } from "../cells";
import { formatValue } from "../format";
import type { HistogramSpec } from "../specs";
import { niceTicks } from "../ticks";
import { toneColor } from "../tones";
import { binsFor, highestCount, outline } from "./bins";
import { Legend, toggled } from "./legend";

const MOST_BINS = 60;
const MOST_FILLED = 2; // more would cover each other

/** Columns from edge to edge, those of several parts over each other. */
export function Histogram({ spec }: { spec: HistogramSpec }) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [read, setRead] = useState("");
  const bins = binsFor(spec.edges, spec.parts, MOST_BINS);
  const most = highestCount(bins, (label) => !hidden.has(label));
  const [first, last] = [bins.edges[0] ?? 0, bins.edges[bins.edges.length - 1] ?? 1];
  const x = (value: number) => ((value - first) / (last - first || 1)) * 100;
  return (
    <div class="histogram">
      <Legend
        entries={spec.parts}
        hidden={hidden}
        onToggle={(label) => setHidden(toggled(hidden, label))}
      />
      <p class="hist-read">{read || `${formatValue(most, "")} ${spec.counted} at most`}</p>
      <svg
        viewBox="0 0 100 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${spec.title}: ${spec.counted} by value`}
        onMouseLeave={() => setRead("")}
      >
        {bins.parts.map((part, place) =>
          hidden.has(part.label) ? null : (
            <path
              key={part.label}
              class={
                bins.parts.length > MOST_FILLED ? "outline" : bins.parts.length > 1 ? "over" : ""
              }
              d={outline(bins.edges, part.counts, most, x)}
              style={{ "--tone": toneColor(part.tone, place) }}
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
            onMouseEnter={() => setRead(wordsOf(bins, bin, spec))}
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

function wordsOf(bins: ReturnType<typeof binsFor>, bin: number, spec: HistogramSpec): string {
  const from = cellText(bins.edges[bin] ?? null, spec.unit);
  const to = cellText(bins.edges[bin + 1] ?? null, spec.unit);
  const counts = bins.parts.map((part) =>
    bins.parts.length > 1
      ? `${part.label} ${formatValue(part.counts[bin], "")}`
      : formatValue(part.counts[bin], ""),
  );
  return `${from} – ${to}: ${counts.join(", ")} ${spec.counted}`;
}
