import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { loadWhile, type Resource } from "./resource";

/** Answers that come when a test says so. */
class Answers {
  asked: {
    resolve: (value: string) => void;
    reject: (error: Error) => void;
    signal: AbortSignal;
  }[] = [];

  ask = (signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => this.asked.push({ resolve, reject, signal }));
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const empty = (): Resource<string> => ({ state: "loading", value: null, error: "" });

describe("what a view shows", () => {
  it("is asked for only while somebody sees it", async () => {
    const answers = new Answers(),
      isWanted = signal(false),
      into = signal(empty());
    const stop = loadWhile(answers.ask, isWanted, into);
    expect(answers.asked.length).toBe(0);
    isWanted.value = true;
    answers.asked[0]!.resolve("here");
    await settled();
    expect(into.value).toEqual({ state: "ready", value: "here", error: "" });
    stop();
  });

  it("is asked for again when what it depends on changes, and never older than that", async () => {
    const answers = new Answers(),
      window = signal(1),
      into = signal(empty());
    const stop = loadWhile(
      (abort) => {
        void window.value;
        return answers.ask(abort);
      },
      signal(true),
      into,
    );
    window.value = 2;
    expect(answers.asked[0]!.signal.aborted).toBe(true);
    answers.asked[1]!.resolve("new");
    await settled();
    answers.asked[0]!.resolve("old");
    await settled();
    expect(into.value.value).toBe("new");
    stop();
  });

  it("stays when a later question fails, and the error is told", async () => {
    const answers = new Answers(),
      window = signal(1),
      into = signal(empty());
    const stop = loadWhile(
      (abort) => {
        void window.value;
        return answers.ask(abort);
      },
      signal(true),
      into,
    );
    answers.asked[0]!.resolve("known");
    await settled();
    window.value = 2;
    expect(into.value.state).toBe("ready");
    answers.asked[1]!.reject(new Error("The server cannot be reached."));
    await settled();
    expect(into.value).toEqual({
      state: "error",
      value: "known",
      error: "The server cannot be reached.",
    });
    stop();
  });
});
