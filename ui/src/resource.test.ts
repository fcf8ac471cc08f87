import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { loadWhile, type Resource } from "./resource";

/** Responses that tests resolve explicitly. */
class PendingResponses {
  requests: {
    resolve: (value: string) => void;
    reject: (error: Error) => void;
    signal: AbortSignal;
  }[] = [];

  load = (signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => this.requests.push({ resolve, reject, signal }));
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const empty = (): Resource<string> => ({ state: "loading", value: null, error: "" });

describe("the data of a view", () => {
  it("is loaded only while it is visible", async () => {
    const answers = new PendingResponses(),
      isEnabled = signal(false),
      into = signal(empty());
    const stop = loadWhile(answers.load, isEnabled, into);
    expect(answers.requests.length).toBe(0);
    isEnabled.value = true;
    answers.requests[0]!.resolve("here");
    await settled();
    expect(into.value).toEqual({ state: "ready", value: "here", error: "" });
    stop();
  });

  it("is reloaded when a dependency changes, and older responses are ignored", async () => {
    const answers = new PendingResponses(),
      window = signal(1),
      into = signal(empty());
    const stop = loadWhile(
      (abort) => {
        void window.value;
        return answers.load(abort);
      },
      signal(true),
      into,
    );
    window.value = 2;
    expect(answers.requests[0]!.signal.aborted).toBe(true);
    answers.requests[1]!.resolve("new");
    await settled();
    answers.requests[0]!.resolve("old");
    await settled();
    expect(into.value.value).toBe("new");
    stop();
  });

  it("stays when a later request fails, with the error", async () => {
    const answers = new PendingResponses(),
      window = signal(1),
      into = signal(empty());
    const stop = loadWhile(
      (abort) => {
        void window.value;
        return answers.load(abort);
      },
      signal(true),
      into,
    );
    answers.requests[0]!.resolve("known");
    await settled();
    window.value = 2;
    expect(into.value.state).toBe("ready");
    answers.requests[1]!.reject(new Error("The server cannot be reached."));
    await settled();
    expect(into.value).toEqual({
      state: "error",
      value: "known",
      error: "The server cannot be reached.",
    });
    stop();
  });
});
