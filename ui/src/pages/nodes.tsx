// The page "Nodes".

import type { JSX } from "preact";
import { Notice } from "../states";

export function NodesPage(): JSX.Element {
  return <Notice state="empty">This page is not there yet.</Notice>;
}
