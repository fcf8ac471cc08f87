// The page "Timeline".

import type { JSX } from "preact";
import { Notice } from "../states";

export function TimelinePage(): JSX.Element {
  return <Notice state="empty">This page is not there yet.</Notice>;
}
