import { expect, test } from "vitest";
import type { JobList, JobRow } from "./api";
import { JobsSource } from "./jobs_source";

const query = { search: "", state: "", sort: "-start" };

function store(
  total: number,
  asked: number[] = [],
): (offset: number, limit: number) => Promise<JobList> {
  return async (offset, limit) => {
    asked.push(offset);
    const count = Math.max(0, Math.min(limit, total - offset));
    const jobs = Array.from(
      { length: count },
      (_, index) => ({ name: `job ${offset + index}` }) as JobRow,
    );
    return { jobs, total, version: "", store: "", now: 0 };
  };
}

test("only the pages in sight are asked for", async () => {
  const asked: number[] = [];
  const source = new JobsSource(query, store(5000, asked));
  await source.want(0, 30);
  await source.want(2095, 2120);
  expect(asked).toEqual([0, 2050, 2100]);
  expect(source.total.value).toBe(5000);
  expect(source.rows(2099, 2101).map((row) => row?.name)).toEqual(["job 2099", "job 2100"]);
});

test("how many jobs are still to be read is told until all are", async () => {
  let unread = 40;
  const ask = store(3);
  const source = new JobsSource(query, async (offset, limit) => ({
    ...(await ask(offset, limit)),
    unread,
  }));
  await source.want(0, 3);
  expect(source.unread.value).toBe(40);
  unread = 0;
  source.reload();
  await source.want(0, 3);
  await Promise.resolve();
  await new Promise((done) => setTimeout(done));
  expect(source.unread.value).toBe(0);
});

test("rows on their way are empty until they are there", async () => {
  const source = new JobsSource(query, store(10));
  expect(source.rows(0, 2)).toEqual([null, null]);
  await source.want(0, 2);
  expect(source.rows(0, 1)[0]?.name).toBe("job 0");
});

test("a store that cannot be read says why, and a list that was there stays", async () => {
  let isBroken = true;
  const ask = store(3);
  const source = new JobsSource(query, (offset, limit) =>
    isBroken ? Promise.reject(new Error("gone")) : ask(offset, limit),
  );
  await source.want(0, 3);
  expect(source.error.value).toBe("gone");
  isBroken = false;
  await source.want(0, 3);
  expect(source.error.value).toBe("");
  isBroken = true;
  await source.want(0, 3);
  expect(source.error.value).toBe("");
  expect(source.rows(0, 1)[0]?.name).toBe("job 0");
});
