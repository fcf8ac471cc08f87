// The page "Overview".

import type { JSX } from "preact";
import { Notice } from "../states";

export function OverviewPage(): JSX.Element {
  return <Notice state="empty">This page is not there yet.</Notice>;
}
