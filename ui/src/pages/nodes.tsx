// Machines over time: one node, or many at once and then one of them.

import type { JSX } from "preact";
import "../nodes/nodes.css";
import { Fleet } from "../nodes/fleet";
import { NodeChoice } from "../nodes/node_choice";
import { NodeView } from "../nodes/node_view";
import { route } from "../router";
import { job } from "../state";
import { Notice } from "../states";

export function NodesPage(): JSX.Element {
  const nodes = job.value?.nodes ?? [];
  const wanted = route.value.parameters.node;
  if (!nodes.length)
    return (
      <Notice state="empty">
        No node has been sampled yet. Samples come every few hundred milliseconds once the job runs.
      </Notice>
    );
  const found = nodes.find((node) => node.name === wanted);
  if (wanted && !found) return <Notice state="error">The job has no node named “{wanted}”.</Notice>;
  const shown = found ?? (nodes.length === 1 ? nodes[0]! : null);
  return (
    <>
      {nodes.length > 1 && <NodeChoice nodes={nodes} shown={shown?.name ?? ""} />}
      {shown ? <NodeView node={shown} /> : <Fleet nodes={nodes} />}
    </>
  );
}
