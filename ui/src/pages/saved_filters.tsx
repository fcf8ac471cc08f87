// Filters of the list of jobs, saved in this browser under a name.

import { useState } from "preact/hooks";
import { Popover } from "../popover";
import { route, setParameters } from "../router";

const KEY = "sonde.filters";
const FIELDS = ["search", "state", "sort"] as const;

export type Filter = { name: string } & Partial<Record<(typeof FIELDS)[number], string>>;

/** The filters in a stored text; empty if it is not a list of filters. */
export function parseFilters(text: string | null): Filter[] {
  try {
    const filters: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(filters)) return [];
    return filters.filter((filter): filter is Filter => typeof filter?.name === "string");
  } catch {
    return [];
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function SavedFilters() {
  const [filters, setFilters] = useState(() => parseFilters(stored()));
  const [name, setName] = useState("");
  const save = (changed: Filter[]): void => {
    setFilters(changed);
    try {
      localStorage.setItem(KEY, JSON.stringify(changed));
    } catch {
      // Without local storage the filters last until the page is closed.
    }
  };
  const add = (): void => {
    const { search = "", state = "", sort = "" } = route.peek().parameters;
    const others = filters.filter((filter) => filter.name !== name.trim());
    save([...others, { name: name.trim(), search, state, sort }]);
    setName("");
  };
  return (
    <Popover label="Filters" title="Saved filters">
      <ul class="saved-filters">
        {filters.map((filter) => (
          <li key={filter.name}>
            <button
              type="button"
              class="quiet"
              onClick={() =>
                setParameters(
                  Object.fromEntries(FIELDS.map((field) => [field, filter[field] ?? ""])),
                )
              }
            >
              {filter.name}
            </button>
            <button
              type="button"
              class="quiet icon"
              aria-label={`Remove filter ${filter.name}`}
              onClick={() => save(filters.filter((other) => other !== filter))}
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
      <form
        class="save-filter"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim()) add();
        }}
      >
        <input
          type="text"
          aria-label="Name of the filter"
          placeholder="Name"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit">Save this filter</button>
      </form>
      <p class="sub query-help">
        Search for words, or for fields:{" "}
        <code>host:gpu-* branch:main rule:LossSpike tag:baseline</code>{" "}
        <code>group:sweep-3 date&gt;=2026-11-01 loss&lt;0.5 duration&gt;10min -state:failed</code>
      </p>
    </Popover>
  );
}
