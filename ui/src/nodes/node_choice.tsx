// Which of many nodes is shown: by name, the next one, or all of them.

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
  const place = nodes.findIndex((node) => node.name === shown);
  const step = (by: number): void =>
    showNode(nodes[(place + by + nodes.length) % nodes.length]!.name);
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
          placeholder="name of a node"
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
