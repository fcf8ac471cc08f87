// The page "Rules".

import type { JSX } from "preact";
import { Notice } from "../states";

export function RulesPage(): JSX.Element {
  return <Notice state="empty">This page is not there yet.</Notice>;
}
