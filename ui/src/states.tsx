// What stands where data should be: loading, nothing, an error.

import type { ComponentChildren, JSX } from "preact";
import { connection, returns } from "./live";
import type { Resource } from "./resource";

export function Notice({
  state,
  children,
}: {
  state: "loading" | "empty" | "error";
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`notice ${state}`} data-state={state} role={state === "error" ? "alert" : "status"}>
      {children}
    </div>
  );
}

function TryAgain(): JSX.Element {
  return (
    <button type="button" onClick={() => (returns.value += 1)}>
      Try again
    </button>
  );
}

/** Says that what is shown is old; of a connection that is lost the page tells once for all. */
export function Stale({ resource }: { resource: Resource<unknown> }): JSX.Element | null {
  if (resource.state !== "error" || connection.value === "lost") return null;
  return (
    <div class="stale" role="alert">
      {resource.error} Shown is what was known before. <TryAgain />
    </div>
  );
}

type WaitingProps<T> = {
  resource: Resource<T>;
  /** Says why there is nothing, where the answer holds nothing. */
  empty?: (value: T) => string | null;
  children: (value: T) => ComponentChildren;
};

/** Draws a resource in whatever state it is; an old value stays while a new one is on its way. */
export function Waiting<T>({ resource, empty, children }: WaitingProps<T>): JSX.Element {
  if (resource.value === null) {
    return resource.state === "error" ? (
      <Notice state="error">
        {resource.error} <TryAgain />
      </Notice>
    ) : (
      <Notice state="loading">Loading…</Notice>
    );
  }
  const nothing = empty?.(resource.value);
  if (nothing) return <Notice state="empty">{nothing}</Notice>;
  return (
    <div data-state={resource.state === "error" ? "error" : "ready"} class="waiting">
      <Stale resource={resource} />
      {children(resource.value)}
    </div>
  );
}
