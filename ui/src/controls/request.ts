// Sends a request to a running job and waits for the replies of its nodes or workers.

import { ApiError, getJson, jobPath, send } from "../api";

export type Replies = {
  replies: Record<string, { done: boolean; message: string }>;
  waiting: string[];
};

const TIMEOUT_MS = 15_000;
const POLL_MS = 300;

/** Sends a request and polls for replies until all have arrived or the timeout expires. */
export async function request(
  job: string,
  kind: "stop" | "set" | "profile",
  body: Record<string, unknown>,
): Promise<Replies> {
  const { request: id } = await send<{ request: string }>("POST", jobPath(job, kind), body);
  const end = Date.now() + TIMEOUT_MS;
  for (;;) {
    const result = await getJson<Replies>(jobPath(job, "requests", id));
    if (result.waiting.length === 0 || Date.now() >= end) return result;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The replies as text; equal messages are grouped. */
export function replyMessage({ replies, waiting }: Replies): string {
  const namesByMessage = new Map<string, string[]>();
  for (const [name, reply] of Object.entries(replies))
    namesByMessage.set(reply.message, [...(namesByMessage.get(reply.message) ?? []), name]);
  const messages = [...namesByMessage].map(
    ([message, names]) => `${shortNameList(names)}: ${message}`,
  );
  if (waiting.length > 0) messages.push(`${shortNameList(waiting)}: no reply yet`);
  return messages.join("; ") || "No process replied.";
}

/** Whether all recipients carried out the request. */
export function isComplete({ replies, waiting }: Replies): boolean {
  const answers = Object.values(replies);
  return waiting.length === 0 && answers.length > 0 && answers.every((answer) => answer.done);
}

export const errorMessage = (error: unknown): string =>
  error instanceof ApiError || error instanceof Error ? error.message : String(error);

function shortNameList(names: readonly string[]): string {
  return names.length <= 3
    ? names.join(", ")
    : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}
