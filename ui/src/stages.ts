/** Training progress over time: the stages of each attempt, and what lay between attempts. */

export type Stage = 'initialization' | 'training_loop' | 'finalization';

/** One attempt; all times in seconds since the job began. */
export interface Attempt {
  number: number;
  start: number;
  training_start: number | null;
  training_end: number | null;
  end: number;
  state: string;
  why: string;
}

export interface Segment {
  kind: Stage | 'interruption';
  attempt: number;
  start: number;
  end: number;
  words: string;
}

export const STAGE_NAMES: Record<Segment['kind'], string> = {
  initialization: 'initialization',
  training_loop: 'training loop',
  finalization: 'finalization',
  interruption: 'interrupted',
};

/** The attempts as stretches of one line, in their order; none is empty. */
export function segmentsOf(attempts: readonly Attempt[]): Segment[] {
  const ordered = [...attempts].sort((one, other) => one.start - other.start);
  const found: Segment[] = [];
  let last: Attempt | null = null;
  for (const attempt of ordered) {
    if (last !== null && attempt.start > last.end) {
      found.push({
        kind: 'interruption',
        attempt: attempt.number,
        start: last.end,
        end: attempt.start,
        words: last.why || last.state,
      });
    }
    found.push(...stagesOf(attempt));
    last = attempt;
  }
  return found.filter((one) => one.end > one.start);
}

function stagesOf(attempt: Attempt): Segment[] {
  const training = attempt.training_start ?? attempt.end;
  const trained = attempt.training_end ?? (attempt.training_start === null ? training : attempt.end);
  const edges: [Stage, number, number][] = [
    ['initialization', attempt.start, training],
    ['training_loop', training, trained],
    ['finalization', trained, attempt.end],
  ];
  return edges.map(([kind, start, end]) => ({
    kind,
    attempt: attempt.number,
    start,
    end,
    words: STAGE_NAMES[kind],
  }));
}
