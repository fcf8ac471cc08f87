// The last thing that a control has to say; read aloud, and gone after a while.

import { signal } from "@preact/signals";

export type Notice = { text: string; isError: boolean };

export const notice = signal<Notice | null>(null);

const SHOWN_MS = 9000;
let timer: ReturnType<typeof setTimeout> | undefined;

export function say(text: string, isError = false): void {
  notice.value = { text, isError };
  clearTimeout(timer);
  timer = setTimeout(() => (notice.value = null), SHOWN_MS);
}
