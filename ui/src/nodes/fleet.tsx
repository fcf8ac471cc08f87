// All nodes over time for one metric, those that differ first.

import type { JSX } from "preact";
import type { NodeDocument } from "../api";

export function Fleet({ nodes }: { nodes: readonly NodeDocument[] }): JSX.Element {
  return <div class="card">{nodes.length} nodes</div>;
}
