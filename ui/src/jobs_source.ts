// The list of jobs, page by page: only what is in sight is asked for, however long the list is.

import { signal } from "@preact/signals";
import { getJson, type JobList, type JobRow } from "./api";
import { pagesOf } from "./scrolling";

const PAGE = 50;

export type JobsQuery = { search: string; state: string; sort: string };
type Ask = (offset: number, limit: number) => Promise<JobList>;

export class JobsSource {
  /** How many jobs fit; null until it is known. */
  readonly total = signal<number | null>(null);
  /** How many jobs of the store the server has not read yet: a search may find more. */
  readonly unread = signal(0);
  readonly store = signal("");
  readonly error = signal("");
  private readonly changed = signal(0);
  private readonly pages = new Map<number, JobRow[]>();
  private readonly asked = new Set<number>();
  private wanted: number[] = [0];

  constructor(
    query: JobsQuery,
    private readonly ask: Ask = asking(query),
  ) {}

  /** The rows between two indices; null for those still on their way. */
  rows(first: number, end: number): (JobRow | null)[] {
    void this.changed.value;
    return Array.from({ length: Math.max(0, end - first) }, (_, index) => {
      const at = first + index;
      return this.pages.get(Math.floor(at / PAGE))?.[at % PAGE] ?? null;
    });
  }

  /** These rows are in sight. */
  async want(first: number, end: number): Promise<void> {
    this.wanted = pagesOf({ first, end }, PAGE);
    await Promise.all(
      this.wanted.filter((page) => !this.pages.has(page)).map((page) => this.load(page)),
    );
  }

  /** Asks again for what is in sight; what is out of sight is forgotten. */
  reload(): void {
    for (const page of this.pages.keys()) if (!this.wanted.includes(page)) this.pages.delete(page);
    for (const page of this.wanted) void this.load(page);
  }

  private async load(page: number): Promise<void> {
    if (this.asked.has(page)) return;
    this.asked.add(page);
    try {
      const found = await this.ask(page * PAGE, PAGE);
      this.pages.set(page, found.jobs);
      this.total.value = found.total;
      this.unread.value = found.unread ?? 0;
      this.store.value = found.store;
      this.error.value = "";
      this.changed.value += 1;
    } catch (problem) {
      // A list that is there stays; the next look may find the server again.
      if (this.total.peek() === null)
        this.error.value = problem instanceof Error ? problem.message : String(problem);
    } finally {
      this.asked.delete(page);
    }
  }
}

function asking(query: JobsQuery): Ask {
  return (offset, limit) => getJson<JobList>("/api/jobs", { ...query, offset, limit });
}
