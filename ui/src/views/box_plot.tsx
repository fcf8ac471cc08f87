// Box plots with whiskers on a shared axis.

import { useState } from "preact/hooks";
import { cellText } from "../cells";
import { formatCount } from "../format";
import type { Box, BoxPlotSpec } from "../generated/chart_specs";
import { niceTicks } from "../ticks";
import { toneColor } from "../tones";
import { boxDomain, boxGeometry } from "./box_layout";

const FIRST_BOXES = 16;

/** A row per group with its median. */
export function BoxPlot({ spec }: { spec: BoxPlotSpec }) {
  const [isExpanded, setExpanded] = useState(false);
  const shown =
    isExpanded || spec.boxes.length <= FIRST_BOXES + 2
      ? spec.boxes
      : spec.boxes.slice(0, FIRST_BOXES);
  const domain = boxDomain(spec.boxes, spec.low, spec.high);
  const ticks = niceTicks(domain[0], domain[1], 5);
  return (
    <div class="box-plot">
      <ul>
        {shown.map((box, index) => (
          <Row key={box.label} box={box} index={index} domain={domain} unit={spec.unit} />
        ))}
      </ul>
      <div class="axis" aria-hidden="true">
        {ticks.map((tick) => (
          <span
            key={tick}
            style={{ left: `${((tick - domain[0]) / (domain[1] - domain[0])) * 100}%` }}
          >
            {cellText(tick, spec.unit)}
          </span>
        ))}
      </div>
      {shown.length < spec.boxes.length && (
        <button type="button" class="quiet" onClick={() => setExpanded(true)}>
          Show all {formatCount(spec.boxes.length)}
        </button>
      )}
    </div>
  );
}

interface RowProps {
  box: Box;
  index: number;
  domain: [number, number];
  unit: string;
}

function Row({ box, index, domain, unit }: RowProps) {
  const geometry = boxGeometry(box, domain);
  const format = (value: number) => cellText(value, unit);
  const label = `p5 ${format(box.p5)}, p25 ${format(box.p25)}, median ${format(box.p50)}, p75 ${format(box.p75)}, p95 ${format(box.p95)}`;
  return (
    <li title={label}>
      <span class="label">{box.label}</span>
      <svg viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label={label}>
        <line class="extremes" x1={geometry.extremes[0]} x2={geometry.extremes[1]} y1="8" y2="8" />
        <line class="whisker" x1={geometry.whisker[0]} x2={geometry.whisker[1]} y1="8" y2="8" />
        <rect
          x={geometry.box[0]}
          width={Math.max(0.4, geometry.box[1] - geometry.box[0])}
          y="3"
          height="10"
          style={{ fill: toneColor(box.tone, index) }}
        />
        <line class="median" x1={geometry.median} x2={geometry.median} y1="1" y2="15" />
      </svg>
      <b>{format(box.p50)}</b>
    </li>
  );
}
