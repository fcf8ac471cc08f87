// A link to the current view: page, time window, selection and finding.

import type { JSX } from "preact";
import { showNotice } from "../controls/notice";
import { formatHash, route } from "../router";

/** The address of the current view, without the token of the first visit. */
export const linkToView = (): string =>
  `${location.href.split(/[?#]/, 1)[0]}${formatHash(route.peek())}`;

function copy(): void {
  const failed = (): void =>
    showNotice("Cannot copy. Copy the address of this page instead.", true);
  // browsers hide the clipboard from pages that are not encrypted
  if (!navigator.clipboard) failed();
  else navigator.clipboard.writeText(linkToView()).then(() => showNotice("Link copied."), failed);
}

export function CopyLink(): JSX.Element {
  return (
    <button
      type="button"
      onClick={copy}
      title="Copy a link to this view, with its time range, selection and filters"
    >
      Copy link
    </button>
  );
}
