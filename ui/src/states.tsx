// Placeholders for data: loading, empty and error states.

import type { ComponentChildren, JSX } from "preact";
import { bundle } from "./bundle";
import { connection, reconnects } from "./live";
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

function RetryButton(): JSX.Element | null {
  if (bundle) return null;
  return (
    <button type="button" onClick={() => (reconnects.value += 1)}>
      Retry
    </button>
  );
}

/** A note that the data is out of date; a lost connection is reported once in the page header. */
export function Stale({ resource }: { resource: Resource<unknown> }): JSX.Element | null {
  if (resource.state !== "error" || connection.value === "lost") return null;
  return (
    <div class="stale" role="alert">
      {resource.error} The data shown may be out of date. <RetryButton />
    </div>
  );
}

type WaitingProps<T> = {
  resource: Resource<T>;
  /** The text for an empty result; null if there is data. */
  empty?: (value: T) => string | null;
  children: (value: T) => ComponentChildren;
};

/** Renders a resource in any state; the previous value stays while a new one loads. */
export function Waiting<T>({ resource, empty, children }: WaitingProps<T>): JSX.Element {
  if (resource.value === null) {
    return resource.state === "error" ? (
      <Notice state={bundle ? "empty" : "error"}>
        {resource.error} <RetryButton />
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
