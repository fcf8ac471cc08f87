// The page "Compare".

import type { JSX } from "preact";
import { Notice } from "../states";

export function ComparePage(): JSX.Element {
  return <Notice state="empty">This page is not there yet.</Notice>;
}
