// The state of a job in a word, with its sign and color.

// In the order of the filter; a broken job is one whose files cannot be read.
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
