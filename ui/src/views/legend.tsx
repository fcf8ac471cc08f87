// What the colors of a picture stand for; where parts can be hidden, a button each.

import { toneColor } from "../tones";

interface Entry {
  label: string;
  tone: string;
}

interface Props {
  entries: readonly Entry[];
  hidden?: ReadonlySet<string>;
  onToggle?: (label: string) => void;
}

/** The entries in the order of their colors. */
export function Legend({ entries, hidden, onToggle }: Props) {
  if (entries.length < 2) return null;
  return (
    <div class="legend">
      {entries.map(({ label, tone }, place) => {
        const swatch = <i class="swatch" style={{ background: toneColor(tone, place) }} />;
        if (!onToggle) {
          return (
            <span key={label}>
              {swatch}
              {label}
            </span>
          );
        }
        return (
          <button
            type="button"
            key={label}
            class="entry"
            aria-pressed={!hidden?.has(label)}
            onClick={() => onToggle(label)}
          >
            {swatch}
            {label}
          </button>
        );
      })}
    </div>
  );
}

/** The set with a label more, or less. */
export function toggled(labels: ReadonlySet<string>, label: string): Set<string> {
  const changed = new Set(labels);
  if (!changed.delete(label)) changed.add(label);
  return changed;
}
