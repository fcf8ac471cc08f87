// The default selection of the tensors page.

import type { Finding } from "../api";
import type { TensorNames } from "./source";

/** Gradients, weights or activations, whichever exists first. */
export function defaultCollection(names: TensorNames): string {
  const available = names.collections.map((collection) => collection.name);
  return (
    ["gradients", "weights", "activations"].find((name) => available.includes(name)) ??
    available[0] ??
    ""
  );
}

/** The first tensor of the collection with a finding, or the first tensor. */
export function defaultTensor(
  names: TensorNames,
  findings: readonly Finding[],
  collection: string,
): string | null {
  const collectionName = collection || defaultCollection(names);
  const members = names.tensors.filter((tensor) => tensor.collections.includes(collectionName));
  const memberNames = new Set(members.map((tensor) => tensor.name));
  const finding = findings.find(({ tensor }) => tensor !== null && memberNames.has(tensor));
  return finding?.tensor ?? members[0]?.name ?? names.tensors[0]?.name ?? null;
}
