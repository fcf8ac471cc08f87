// The Nodes page: one node, or the fleet of all nodes.

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
  const requested = route.value.parameters.node;
  if (!nodes.length)
    return <Notice state="empty">No system samples yet. Sampling starts with the job.</Notice>;
  const match = nodes.find((node) => node.name === requested);
  if (requested && !match)
    return <Notice state="error">Node “{requested}” does not exist in this job.</Notice>;
  const shown = match ?? (nodes.length === 1 ? nodes[0]! : null);
  return (
    <>
      {nodes.length > 1 && <NodeChoice nodes={nodes} shown={shown?.name ?? ""} />}
      {shown ? <NodeView node={shown} /> : <Fleet nodes={nodes} />}
    </>
  );
}
