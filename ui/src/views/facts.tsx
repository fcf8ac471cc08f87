// Facts: names with values.

import { cellText } from "../cells";
import type { FactsSpec } from "../generated/chart_specs";

/** Names and values in as many columns as fit. */
export function Facts({ spec }: { spec: FactsSpec }) {
  return (
    <dl class="fact-list">
      {spec.facts.map((fact) => (
        <div key={fact.name} data-fact={fact.name}>
          <dt>{fact.title}</dt>
          <dd>{cellText(fact.value, fact.unit)}</dd>
        </div>
      ))}
    </dl>
  );
}
