// Asks something of a running job, and waits for what its nodes or workers answer.

import { ApiError, getJson, jobPath, send } from "../api";

export type Replies = {
  replies: Record<string, { done: boolean; message: string }>;
  waiting: string[];
};

const PATIENCE_MS = 15_000;
const PAUSE_MS = 300;

/** Sends it and comes back with the answers; who has not answered in time is named. */
export async function request(
  job: string,
  kind: "stop" | "set" | "profile",
  body: Record<string, unknown>,
): Promise<Replies> {
  const { request: id } = await send<{ request: string }>("POST", jobPath(job, kind), body);
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await getJson<Replies>(jobPath(job, "requests", id));
    if (found.waiting.length === 0 || Date.now() >= end) return found;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** What was answered, in one sentence; those who say the same say it together. */
export function replyWords({ replies, waiting }: Replies): string {
  const by = new Map<string, string[]>();
  for (const [name, reply] of Object.entries(replies))
    by.set(reply.message, [...(by.get(reply.message) ?? []), name]);
  const said = [...by].map(([message, names]) => `${someNames(names)}: ${message}`);
  if (waiting.length > 0) said.push(`${someNames(waiting)}: no answer yet`);
  return said.join("; ") || "Nobody was there to answer.";
}

/** Whether everybody did what was asked. */
export function isDone({ replies, waiting }: Replies): boolean {
  const said = Object.values(replies);
  return waiting.length === 0 && said.length > 0 && said.every((one) => one.done);
}

export const errorWords = (error: unknown): string =>
  error instanceof ApiError || error instanceof Error ? error.message : String(error);

function someNames(names: readonly string[]): string {
  return names.length <= 3
    ? names.join(", ")
    : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}
