// The legend of a chart; entries are buttons if series can be hidden.

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

/** Legend entries in the order of the series. */
export function Legend({ entries, hidden, onToggle }: Props) {
  if (entries.length < 2) return null;
  return (
    <div class="legend">
      {entries.map(({ label, tone }, index) => {
        const swatch = <i class="swatch" style={{ background: toneColor(tone, index) }} />;
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

/** A copy of the set with a label added or removed. */
export function toggled(labels: ReadonlySet<string>, label: string): Set<string> {
  const changed = new Set(labels);
  if (!changed.delete(label)) changed.add(label);
  return changed;
}
