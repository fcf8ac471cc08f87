// The numbers that made a rule fire, with their units, as their names tell them.

import { formatValue } from "./format";

const UNITS = ["bytes_per_second", "percent", "seconds", "bytes", "celsius", "watts", "mhz"];
const MOST = 8;

/** What a name like `lost_percent` is called, and in which unit its number is. */
export function nameAndUnit(name: string): [string, string] {
  const unit =
    UNITS.find((one) => name.endsWith(`_${one}`)) ?? (name.startsWith("seconds_") ? "seconds" : "");
  const words = name.endsWith(`_${unit}`) ? name.slice(0, -unit.length - 1) : name;
  return [words.replaceAll("_", " "), unit];
}

/** Any value of plain JSON as text. */
export function valueText(value: unknown, unit: string): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatValue(value, unit);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) {
    const shown = value
      .slice(0, MOST)
      .map((one) => valueText(one, unit))
      .join(", ");
    return value.length > MOST ? `${shown} and ${value.length - MOST} more` : shown || "–";
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Names and values, ready to be read. */
export function evidenceRows(evidence: Record<string, unknown>): [string, string][] {
  const names = Object.keys(evidence).map((name) => nameAndUnit(name)[0]);
  return Object.entries(evidence).map(([name, value]) => {
    const [words, unit] = nameAndUnit(name);
    const isAmbiguous = names.filter((one) => one === words).length > 1;
    return [isAmbiguous ? name.replaceAll("_", " ") : words, valueText(value, unit)];
  });
}
