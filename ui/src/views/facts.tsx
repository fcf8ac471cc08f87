// Single figures, each with its name.

import { cellText } from "../cells";
import type { FactsSpec } from "../specs";

/** Names and values beside each other, in as many columns as there is room for. */
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
