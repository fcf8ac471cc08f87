import { expect, test } from "vitest";
import type { JobList, JobRow } from "./api";
import { JobsSource } from "./jobs_source";

const query = { search: "", state: "", sort: "-start" };

function store(
  total: number,
  offsets: number[] = [],
): (offset: number, limit: number) => Promise<JobList> {
  return async (offset, limit) => {
    offsets.push(offset);
    const count = Math.max(0, Math.min(limit, total - offset));
    const jobs = Array.from(
      { length: count },
      (_, index) => ({ name: `job ${offset + index}` }) as JobRow,
    );
    return { jobs, total, version: "", store: "", now: 0 };
  };
}

test("only visible pages are loaded", async () => {
  const offsets: number[] = [];
  const source = new JobsSource(query, store(5000, offsets));
  await source.showRows(0, 30);
  await source.showRows(2095, 2120);
  expect(offsets).toEqual([0, 2050, 2100]);
  expect(source.total.value).toBe(5000);
  expect(source.rows(2099, 2101).map((row) => row?.name)).toEqual(["job 2099", "job 2100"]);
});

test("the number of unread jobs is reported until all are read", async () => {
  let unread = 40;
  const fetchPage = store(3);
  const source = new JobsSource(query, async (offset, limit) => ({
    ...(await fetchPage(offset, limit)),
    unread,
  }));
  await source.showRows(0, 3);
  expect(source.unread.value).toBe(40);
  unread = 0;
  source.reload();
  await source.showRows(0, 3);
  await Promise.resolve();
  await new Promise((done) => setTimeout(done));
  expect(source.unread.value).toBe(0);
});

test("rows are null while loading", async () => {
  const source = new JobsSource(query, store(10));
  expect(source.rows(0, 2)).toEqual([null, null]);
  await source.showRows(0, 2);
  expect(source.rows(0, 1)[0]?.name).toBe("job 0");
});

test("errors are reported, but a loaded list stays", async () => {
  let isBroken = true;
  const fetchPage = store(3);
  const source = new JobsSource(query, (offset, limit) =>
    isBroken ? Promise.reject(new Error("gone")) : fetchPage(offset, limit),
  );
  await source.showRows(0, 3);
  expect(source.error.value).toBe("gone");
  isBroken = false;
  await source.showRows(0, 3);
  expect(source.error.value).toBe("");
  isBroken = true;
  await source.showRows(0, 3);
  expect(source.error.value).toBe("");
  expect(source.rows(0, 1)[0]?.name).toBe("job 0");
});
