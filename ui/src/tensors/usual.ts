// What the page shows where nobody has chosen anything yet.

import type { Finding } from "../api";
import type { TensorNames } from "./source";

/** The collection that tells most. */
export function usualCollection(names: TensorNames): string {
  const known = names.collections.map((one) => one.name);
  return (
    ["gradients", "weights", "activations"].find((one) => known.includes(one)) ?? known[0] ?? ""
  );
}

/** Of the tensors in the picture of layers the one that a finding names, else the first. */
export function usualTensor(
  names: TensorNames,
  findings: readonly Finding[],
  collection: string,
): string | null {
  const wanted = collection || usualCollection(names);
  const inside = names.tensors.filter((one) => one.collections.includes(wanted));
  const known = new Set(inside.map((one) => one.name));
  const found = findings.find(({ tensor }) => tensor !== null && known.has(tensor));
  return found?.tensor ?? inside[0]?.name ?? names.tensors[0]?.name ?? null;
}
