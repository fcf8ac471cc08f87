// Where most values of each group lie: boxes with whiskers, on one axis.

import { useState } from "preact/hooks";
import { cellText } from "../cells";
import type { Box, BoxPlotSpec } from "../specs";
import { niceTicks } from "../ticks";
import { toneColor } from "../tones";
import { boxDomain, boxPlaces } from "./box_layout";

const FIRST_BOXES = 16;

/** A row per group; the median stands beside it. */
export function BoxPlot({ spec }: { spec: BoxPlotSpec }) {
  const [isWhole, setWhole] = useState(false);
  const shown =
    isWhole || spec.boxes.length <= FIRST_BOXES + 2 ? spec.boxes : spec.boxes.slice(0, FIRST_BOXES);
  const domain = boxDomain(spec.boxes, spec.low, spec.high);
  const ticks = niceTicks(domain[0], domain[1], 5);
  return (
    <div class="box-plot">
      <ul>
        {shown.map((box, place) => (
          <Row key={box.label} box={box} place={place} domain={domain} unit={spec.unit} />
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
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {spec.boxes.length}
        </button>
      )}
    </div>
  );
}

interface RowProps {
  box: Box;
  place: number;
  domain: [number, number];
  unit: string;
}

function Row({ box, place, domain, unit }: RowProps) {
  const places = boxPlaces(box, domain);
  const said = (value: number) => cellText(value, unit);
  const words = `p5 ${said(box.p5)}, p25 ${said(box.p25)}, median ${said(box.p50)}, p75 ${said(box.p75)}, p95 ${said(box.p95)}`;
  return (
    <li title={words}>
      <span class="label">{box.label}</span>
      <svg viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label={words}>
        <line class="extremes" x1={places.extremes[0]} x2={places.extremes[1]} y1="8" y2="8" />
        <line class="whisker" x1={places.whisker[0]} x2={places.whisker[1]} y1="8" y2="8" />
        <rect
          x={places.box[0]}
          width={Math.max(0.4, places.box[1] - places.box[0])}
          y="3"
          height="10"
          style={{ fill: toneColor(box.tone, place) }}
        />
        <line class="median" x1={places.median} x2={places.median} y1="1" y2="15" />
      </svg>
      <b>{said(box.p50)}</b>
    </li>
  );
}
