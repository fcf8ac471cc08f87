// Files that the browser saves.

import { job } from "../state";

/** The name of a file with a chart of the current job: letters, digits and dashes. */
export function fileName(title: string, ending: string): string {
  const name = `${job.peek()?.job ?? ""} ${title}`.trim();
  return `${name.replace(/[^\p{L}\p{N}._]+/gu, "-").replace(/^[-.]+|-+$/g, "") || "chart"}.${ending}`;
}

const KEPT_MS = 60_000; // some browsers read the file after the click

export function download(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
