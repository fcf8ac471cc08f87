import { expect, test } from 'vitest';
import { type Attempt, segmentsOf } from './stages';

const first: Attempt = {
  number: 1,
  start: 0,
  training_start: 2,
  training_end: 10,
  end: 11,
  state: 'failed',
  why: 'killed by SIGKILL',
};
const second = { ...first, number: 2, start: 30, training_start: 33, training_end: 50, end: 50 };

test('an attempt has its stages one after the other', () => {
  expect(segmentsOf([first]).map((one) => [one.kind, one.start, one.end])).toEqual([
    ['initialization', 0, 2],
    ['training_loop', 2, 10],
    ['finalization', 10, 11],
  ]);
});

test('between two attempts lies an interruption that says why', () => {
  const found = segmentsOf([second, first]);
  expect(found[3]).toEqual({
    kind: 'interruption',
    attempt: 2,
    start: 11,
    end: 30,
    words: 'killed by SIGKILL',
  });
  expect(found.map((one) => one.attempt)).toEqual([1, 1, 1, 2, 2, 2]);
});

test('a stage that took no time is not drawn', () => {
  expect(segmentsOf([second]).map((one) => one.kind)).toEqual(['initialization', 'training_loop']);
});

test('what never trained was initialized until its end', () => {
  const never = { ...first, training_start: null, training_end: null };
  expect(segmentsOf([never]).map((one) => [one.kind, one.end])).toEqual([['initialization', 11]]);
});

test('what trains until now has no finalization yet', () => {
  const now = { ...first, training_end: null };
  expect(segmentsOf([now]).map((one) => one.kind)).toEqual(['initialization', 'training_loop']);
});
