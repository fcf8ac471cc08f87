// What a person can do to a job from its header.

import type { JSX } from "preact";

export function HeaderControls(): JSX.Element | null {
  return null;
}
