// What stands where data should be: loading, nothing, an error.

import type { ComponentChildren, JSX } from "preact";
import type { Resource } from "./resource";

export function Notice({ state, children }: { state: "loading" | "empty" | "error"; children: ComponentChildren }): JSX.Element {
  return <div class={`notice ${state}`} data-state={state} role={state === "error" ? "alert" : "status"}>{children}</div>;
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
    return resource.state === "error" ? <Notice state="error">{resource.error}</Notice> : <Notice state="loading">Loading…</Notice>;
  }
  const nothing = empty?.(resource.value);
  if (nothing) return <Notice state="empty">{nothing}</Notice>;
  return (
    <div data-state={resource.state === "error" ? "error" : "ready"} class="waiting">
      {resource.state === "error" && <div class="stale" role="alert">{resource.error} Shown is what was known before.</div>}
      {children(resource.value)}
    </div>
  );
}
