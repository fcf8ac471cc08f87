// The header of the list of jobs; clicks sort, and the order is stored in the URL.

import { setParameters } from "../router";

type HeadColumn = {
  key: string;
  title: string;
  sort?: string;
  isNumber?: boolean;
  isHidden?: boolean;
};

export const COLUMNS: readonly HeadColumn[] = [
  { key: "choose", title: "Select", isHidden: true },
  { key: "name", title: "Job", sort: "name" },
  { key: "state", title: "State", sort: "state" },
  { key: "started", title: "Started", sort: "start" },
  { key: "duration", title: "Duration", sort: "duration", isNumber: true },
  { key: "steps", title: "Steps", isNumber: true },
  { key: "findings", title: "Findings", sort: "findings" },
  { key: "verdict", title: "Verdict" },
  { key: "spark", title: "Loss" },
  { key: "delete", title: "Edit and delete", isHidden: true },
];

/** The sort direction of a column: `-start` is the latest first. */
export function directionOf(
  sort: string,
  column: string | undefined,
): "ascending" | "descending" | "none" {
  if (!column || sort.replace(/^-/, "") !== column) return "none";
  return sort.startsWith("-") ? "descending" : "ascending";
}

/** The order after a click on a header; dates, durations and findings start with the largest. */
export function nextSort(sort: string, column: string): string {
  const direction = directionOf(sort, column);
  if (direction === "none") return ["name", "state"].includes(column) ? column : `-${column}`;
  return direction === "descending" ? column : `-${column}`;
}

export function JobsHead({ sort }: { sort: string }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {COLUMNS.map(({ key, title, sort: by, isNumber, isHidden }) => {
          const direction = directionOf(sort, by);
          return (
            <th
              key={key}
              scope="col"
              class={`col-${key}${isNumber ? " r" : ""}`}
              {...(by ? { "aria-sort": direction } : {})}
            >
              {by ? (
                <button
                  type="button"
                  class="head"
                  onClick={() => setParameters({ sort: nextSort(sort, by) })}
                >
                  {title}
                  <span class="order" aria-hidden="true">
                    {{ none: "", ascending: "▲", descending: "▼" }[direction]}
                  </span>
                </button>
              ) : (
                <span class={isHidden ? "visually-hidden" : ""}>{title}</span>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
