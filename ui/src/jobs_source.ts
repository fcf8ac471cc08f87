// The list of jobs, loaded page by page as rows become visible.

import { signal } from "@preact/signals";
import { getJson, type JobList, type JobRow } from "./api";
import { pagesOf } from "./scrolling";

const PAGE = 50;

export type JobsQuery = { search: string; state: string; sort: string };
type FetchPage = (offset: number, limit: number) => Promise<JobList>;

export class JobsSource {
  /** The number of matching jobs; null until loaded. */
  readonly total = signal<number | null>(null);
  /** The number of jobs that the server has not read yet; a search can match more of them. */
  readonly unread = signal(0);
  readonly store = signal("");
  readonly error = signal("");
  private readonly changed = signal(0);
  private readonly pages = new Map<number, JobRow[]>();
  private readonly loading = new Set<number>();
  private visiblePages: number[] = [0];

  constructor(
    query: JobsQuery,
    private readonly fetchPage: FetchPage = pageFetcher(query),
  ) {}

  /** The rows between two indices; null for rows that are still loading. */
  rows(first: number, end: number): (JobRow | null)[] {
    void this.changed.value;
    return Array.from({ length: Math.max(0, end - first) }, (_, index) => {
      const at = first + index;
      return this.pages.get(Math.floor(at / PAGE))?.[at % PAGE] ?? null;
    });
  }

  /** Loads the pages of the visible rows. */
  async showRows(first: number, end: number): Promise<void> {
    this.visiblePages = pagesOf({ first, end }, PAGE);
    await Promise.all(
      this.visiblePages.filter((page) => !this.pages.has(page)).map((page) => this.load(page)),
    );
  }

  /** Reloads the visible pages and drops the others. */
  reload(): void {
    for (const page of this.pages.keys())
      if (!this.visiblePages.includes(page)) this.pages.delete(page);
    for (const page of this.visiblePages) void this.load(page);
  }

  private async load(page: number): Promise<void> {
    if (this.loading.has(page)) return;
    this.loading.add(page);
    try {
      const answer = await this.fetchPage(page * PAGE, PAGE);
      this.pages.set(page, answer.jobs);
      this.total.value = answer.total;
      this.unread.value = answer.unread ?? 0;
      this.store.value = answer.store;
      this.error.value = "";
      this.changed.value += 1;
    } catch (problem) {
      // Keep a loaded list; the next refresh may succeed.
      if (this.total.peek() === null)
        this.error.value = problem instanceof Error ? problem.message : String(problem);
    } finally {
      this.loading.delete(page);
    }
  }
}

function pageFetcher(query: JobsQuery): FetchPage {
  return (offset, limit) => getJson<JobList>("/api/jobs", { ...query, offset, limit });
}
