// The state of a job in a word, with its sign and color.

const SIGNS: Record<string, string> = { starting: "○", running: "●", completed: "✓", failed: "✕", stopped: "■", lost: "?" };

export function StateChip({ state }: { state: string }) {
  return <span class={`chip sign state-${state}`} data-sign={SIGNS[state] ?? "○"}>{state}</span>;
}
