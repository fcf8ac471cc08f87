// Sentences, and nothing to draw.

import type { TextSpec } from "../specs";

/** A paragraph each. */
export function Sentences({ spec }: { spec: TextSpec }) {
  return (
    <div class="sentences">
      {spec.paragraphs.map((paragraph) => (
        <p key={paragraph}>{paragraph}</p>
      ))}
    </div>
  );
}
