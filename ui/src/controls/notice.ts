// The last notice of a control; announced by screen readers and hidden after a while.

import { signal } from "@preact/signals";

export type Notice = { text: string; isError: boolean };

export const notice = signal<Notice | null>(null);

const SHOWN_MS = 9000;
let timer: ReturnType<typeof setTimeout> | undefined;

export function showNotice(text: string, isError = false): void {
  notice.value = { text, isError };
  clearTimeout(timer);
  timer = setTimeout(() => (notice.value = null), SHOWN_MS);
}
