// The toast at the bottom of the window that shows notices.

import type { JSX } from "preact";
import { notice } from "./notice";

export function Toast(): JSX.Element {
  const current = notice.value;
  return (
    <p class={`toast${current?.isError ? " error" : ""}`} role="status" hidden={current === null}>
      {current?.text}
    </p>
  );
}
