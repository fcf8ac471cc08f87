// The page "Jobs".

import type { JSX } from "preact";
import { Notice } from "../states";

export function JobsPage(): JSX.Element {
  return <Notice state="empty">This page is not there yet.</Notice>;
}
