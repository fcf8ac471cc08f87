// Who stands out, and why, in words.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatHash, route } from "../router";
import type { FleetData } from "./fleet_data";

const FIRST = 6;

function nodeLink(node: string): string {
  return formatHash({ ...route.value, parameters: { ...route.value.parameters, node } });
}

export function Ranking({ data, count }: { data: FleetData; count: number }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const outliers = data.ranking.filter((one) => one.is_outlier);
  const shown = isWhole ? outliers : outliers.slice(0, FIRST);
  return (
    <section class="card ranking" data-chart="ranking" aria-label="Nodes that stand out">
      <header>
        <h2>
          {outliers.length
            ? `${outliers.length} of ${count} nodes ${outliers.length === 1 ? "stands" : "stand"} out`
            : `All ${count} nodes are alike`}
        </h2>
        <span class="sub">{data.metric} in view</span>
      </header>
      {shown.length > 0 && (
        <ol>
          {shown.map((one) => (
            <li key={one.node}>
              <a href={nodeLink(one.node)}>{one.node}</a> <span>{one.reason}</span>
            </li>
          ))}
        </ol>
      )}
      {shown.length < outliers.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {outliers.length}
        </button>
      )}
    </section>
  );
}
