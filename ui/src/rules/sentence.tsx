// The verdict of all rules in one sentence.

import type { JSX } from "preact";
import type { JobDocument } from "../api";

export function Sentence({ document }: { document: JobDocument }): JSX.Element | null {
  const { sentence, findings } = document.findings;
  if (!sentence) return null;
  const isClean = findings.length === 0 && sentence === "No issues found.";
  return <p class={isClean ? "sentence all-quiet" : "sentence"}>{sentence}</p>;
}
