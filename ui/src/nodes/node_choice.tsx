// Selection of a node by name, of the next node, or of all nodes.

import type { JSX } from "preact";
import type { NodeDocument } from "../api";
import { formatHash, goTo, route } from "../router";

export function showNode(node: string): void {
  const { node: _, ...rest } = route.peek().parameters;
  goTo(formatHash({ ...route.peek(), parameters: node ? { ...rest, node } : rest }));
}

export function NodeChoice({
  nodes,
  shown,
}: {
  nodes: readonly NodeDocument[];
  shown: string;
}): JSX.Element {
  const index = nodes.findIndex((node) => node.name === shown);
  const step = (by: number): void =>
    showNode(nodes[(index + by + nodes.length) % nodes.length]!.name);
  return (
    <div class="node-choice" role="toolbar" aria-label="Node">
      <button type="button" aria-pressed={!shown} onClick={() => showNode("")}>
        All {nodes.length} nodes
      </button>
      <label class="choice">
        Node{" "}
        <input
          type="text"
          list="node-names"
          value={shown}
          placeholder="Node name"
          onChange={(event) => {
            if (nodes.some((node) => node.name === event.currentTarget.value))
              showNode(event.currentTarget.value);
          }}
        />
      </label>
      <datalist id="node-names">
        {nodes.map((node) => (
          <option key={node.name} value={node.name} />
        ))}
      </datalist>
      {shown && (
        <>
          <button type="button" aria-label="Previous node" onClick={() => step(-1)}>
            ◀
          </button>
          <button type="button" aria-label="Next node" onClick={() => step(1)}>
            ▶
          </button>
        </>
      )}
    </div>
  );
}
