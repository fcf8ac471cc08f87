// Where the last thing that a control said is read, at the foot of the window.

import type { JSX } from "preact";
import { notice } from "./notice";

export function Said(): JSX.Element {
  const said = notice.value;
  return (
    <p class={`said${said?.isError ? " error" : ""}`} role="status" hidden={said === null}>
      {said?.text}
    </p>
  );
}
