// Outlier nodes with reasons.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, pluralize } from "../format";
import { formatHash, route } from "../router";
import type { FleetData } from "./fleet_data";

const FIRST = 6;

function nodeLink(node: string): string {
  return formatHash({ ...route.value, parameters: { ...route.value.parameters, node } });
}

export function Ranking({ data, count }: { data: FleetData; count: number }): JSX.Element {
  const [isExpanded, setExpanded] = useState(false);
  const outliers = data.ranking.filter((row) => row.is_outlier);
  const shown = isExpanded ? outliers : outliers.slice(0, FIRST);
  return (
    <section class="card ranking" data-chart="ranking" aria-label="Outlier nodes">
      <header>
        <h2>
          {outliers.length
            ? `${outliers.length} of ${pluralize(count, "node")} differ${outliers.length === 1 ? "s" : ""} from the rest`
            : `No outliers among ${pluralize(count, "node")}`}
        </h2>
        <span class="sub">{data.metric} in view</span>
      </header>
      {shown.length > 0 && (
        <ol>
          {shown.map((row) => (
            <li key={row.node}>
              <a href={nodeLink(row.node)}>{row.node}</a> <span>{row.reason}</span>
            </li>
          ))}
        </ol>
      )}
      {shown.length < outliers.length && (
        <button type="button" class="quiet" onClick={() => setExpanded(true)}>
          Show all {formatCount(outliers.length)}
        </button>
      )}
    </section>
  );
}
