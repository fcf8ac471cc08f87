// Evidence of findings as text; the unit of a number is the suffix of its name.

import { formatValue } from "./format";

const UNITS = ["bytes_per_second", "percent", "seconds", "bytes", "celsius", "watts", "mhz"];
const GPU_HOURS = "gpu_hours"; // shown as a duration
const MAX_ITEMS = 8;

/** Splits a name like `lost_percent` into a label and a unit. */
export function nameAndUnit(name: string): [string, string] {
  if (name.includes(GPU_HOURS))
    return [name.replace(GPU_HOURS, "GPU time").replaceAll("_", " "), GPU_HOURS];
  const unit =
    UNITS.find((candidate) => name.endsWith(`_${candidate}`)) ??
    (name.startsWith("seconds_") ? "seconds" : "");
  const label = name.endsWith(`_${unit}`) ? name.slice(0, -unit.length - 1) : name;
  return [label.replaceAll("_", " "), unit];
}

/** A JSON value as text. */
export function valueText(value: unknown, unit: string): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatValue(value, unit);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) {
    const shown = value
      .slice(0, MAX_ITEMS)
      .map((item) => valueText(item, unit))
      .join(", ");
    return value.length > MAX_ITEMS
      ? `${shown} and ${value.length - MAX_ITEMS} more`
      : shown || "–";
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Labels and formatted values. */
export function evidenceRows(evidence: Record<string, unknown>): [string, string][] {
  const names = Object.keys(evidence).map((name) => nameAndUnit(name)[0]);
  return Object.entries(evidence).map(([name, value]) => {
    const [label, unit] = nameAndUnit(name);
    const isAmbiguous = names.filter((candidate) => candidate === label).length > 1;
    return [isAmbiguous ? name.replaceAll("_", " ") : label, valueText(value, unit)];
  });
}
