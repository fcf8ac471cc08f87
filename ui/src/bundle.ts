// A page written by `sonde bundle`, which contains the recorded replies of the API for one job.

import type { Range } from "./range";

/** A recorded reply: compressed, as base64. */
export type Entry = {
  path: string;
  /** The parameters that a request must have. */
  query: Record<string, string>;
  /** What the reply contains, such as the names of its series. */
  bounds: Record<string, string>;
  window: Range | null;
  /** Its numbers hold for this window only. */
  is_exact: boolean;
  data: string;
};
export type Bundle = {
  job: string;
  as_of: number;
  start: number;
  seconds: number;
  version: string;
  omitted: string[];
  replies: Entry[];
};

function readBundle(): Bundle | null {
  if (typeof document === "undefined") return null;
  const text = document.querySelector('script[data-spec="bundle"]')?.textContent;
  return text ? (JSON.parse(text) as Bundle) : null;
}

/** The data in this page; null if it is served by `sonde ui`. */
export const bundle: Bundle | null = readBundle();
