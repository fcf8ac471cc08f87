// The page "Tensors".

import type { JSX } from "preact";
import { Notice } from "../states";

export function TensorsPage(): JSX.Element {
  return <Notice state="empty">This page is not there yet.</Notice>;
}
