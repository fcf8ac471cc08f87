// Paragraphs of text.

import type { TextSpec } from "../generated/chart_specs";

/** A `p` element per paragraph. */
export function Sentences({ spec }: { spec: TextSpec }) {
  return (
    <div class="sentences">
      {spec.paragraphs.map((paragraph) => (
        <p key={paragraph}>{paragraph}</p>
      ))}
    </div>
  );
}
