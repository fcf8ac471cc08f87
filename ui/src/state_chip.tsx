// The state of a job as a chip with symbol and color.

// In the order of the filter; a job is broken if its files cannot be read.
export const STATES = ["running", "completed", "failed", "stopped", "lost", "ended", "broken"];

export const SIGNS: Record<string, string> = {
  starting: "○",
  running: "●",
  completed: "✓",
  failed: "✕",
  stopped: "■",
  lost: "?",
  broken: "!",
};

export function StateChip({ state }: { state: string }) {
  return (
    <span class={`chip sign state-${state}`} data-sign={SIGNS[state] ?? "○"}>
      {state}
    </span>
  );
}
