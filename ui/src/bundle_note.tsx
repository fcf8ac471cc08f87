// When a bundle was written, and what it leaves out.

import type { JSX } from "preact";
import type { Bundle } from "./bundle";
import { formatStamp } from "./format";
import { isRunning, job, zone } from "./state";

export function BundleNote({ bundle }: { bundle: Bundle }): JSX.Element {
  const time = <time>{formatStamp(bundle.as_of, zone.value)}</time>;
  return (
    <aside class="bundle-note" aria-label="About this file">
      {isRunning(job.value?.state) ? (
        <>The job was still running. This file shows it as of {time}.</>
      ) : (
        <>Written on {time}.</>
      )}
      {bundle.omitted.length > 0 && (
        <details>
          <summary>Some data was left out to limit the size</summary>
          <ul>
            {bundle.omitted.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
          <p>
            Use <code>sonde bundle --max-size</code> for a larger file, or <code>sonde ui</code> for
            all data.
          </p>
        </details>
      )}
    </aside>
  );
}
