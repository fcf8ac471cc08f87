// Layout and keyboard navigation of flame graphs, independent of the canvas.

/** One entry per frame; parents precede their children, −1 is no parent, siblings are in order. */
export type FlameTree = {
  names: readonly string[];
  files: readonly string[];
  parents: Int32Array;
  totals: Float64Array;
  selves: Float64Array;
  counts: ArrayLike<number>;
};
/** Start and end of each frame as fractions of the total, and its depth. */
export type FlameLayout = {
  from: Float64Array;
  to: Float64Array;
  depth: Uint16Array;
  rows: number;
  total: number;
};

export function layoutFlame(tree: FlameTree): FlameLayout {
  const count = tree.parents.length;
  const from = new Float64Array(count),
    to = new Float64Array(count),
    depth = new Uint16Array(count);
  const filled = new Float64Array(count + 1);
  let total = 0;
  for (let i = 0; i < count; i++) if (tree.parents[i]! < 0) total += tree.totals[i]!;
  let rows = 0;
  for (let i = 0; i < count; i++) {
    const parent = tree.parents[i]!;
    const slot = parent < 0 ? count : parent;
    const left = (parent < 0 ? 0 : from[parent]!) + filled[slot]!;
    const width = total > 0 ? tree.totals[i]! / total : 0;
    filled[slot]! += width;
    from[i] = left;
    to[i] = left + width;
    depth[i] = parent < 0 ? 0 : depth[parent]! + 1;
    rows = Math.max(rows, depth[i]! + 1);
  }
  return { from, to, depth, rows, total: total };
}

/** A frame and its callers, the outermost first. */
export function lineageOf(tree: FlameTree, frame: number): number[] {
  const lineage: number[] = [];
  for (let at = frame; at >= 0; at = tree.parents[at]!) lineage.unshift(at);
  return lineage;
}

/** The frame at a fraction of the width and a row; −1 if none. The frame `zoom` fills the width; −1 shows all. */
export function frameAt(
  tree: FlameTree,
  layout: FlameLayout,
  zoom: number,
  share: number,
  row: number,
): number {
  const [left, right] = zoomRange(layout, zoom);
  const lineage = zoom < 0 ? [] : lineageOf(tree, zoom);
  if (row < lineage.length) return lineage[row] ?? -1;
  const at = left + share * (right - left);
  for (let i = 0; i < layout.from.length; i++) {
    if (layout.depth[i] === row && at >= layout.from[i]! && at < layout.to[i]!) return i;
  }
  return -1;
}

export function zoomRange(layout: FlameLayout, zoom: number): readonly [number, number] {
  return zoom < 0 ? [0, 1] : [layout.from[zoom]!, layout.to[zoom]!];
}

/** The frame that an arrow key moves to: up to the caller, down to the first callee, sideways to siblings. */
export function neighbor(tree: FlameTree, frame: number, key: string): number {
  if (frame < 0) return tree.parents.length ? 0 : -1;
  const parent = tree.parents[frame]!;
  if (key === "ArrowUp") return parent < 0 ? frame : parent;
  if (key === "ArrowDown") {
    const child = tree.parents.indexOf(frame);
    return child < 0 ? frame : child;
  }
  const siblings: number[] = [];
  for (let i = 0; i < tree.parents.length; i++) if (tree.parents[i] === parent) siblings.push(i);
  const index = siblings.indexOf(frame) + (key === "ArrowRight" ? 1 : -1);
  return siblings[index] ?? frame;
}

/** Frames whose name contains a text, and their share of the time; nested matches count once. */
export function searchFlame(tree: FlameTree, text: string): { isHit: Uint8Array; share: number } {
  const isHit = new Uint8Array(tree.parents.length),
    isInside = new Uint8Array(tree.parents.length);
  const needle = text.trim().toLowerCase();
  let total = 0,
    matched = 0;
  for (let i = 0; i < tree.parents.length; i++) {
    const parent = tree.parents[i]!;
    if (parent < 0) total += tree.totals[i]!;
    isHit[i] = needle && tree.names[i]!.toLowerCase().includes(needle) ? 1 : 0;
    const isBelow = parent >= 0 && isInside[parent] === 1;
    if (isHit[i] && !isBelow) matched += tree.totals[i]!;
    isInside[i] = isBelow || isHit[i] ? 1 : 0;
  }
  return { isHit, share: total > 0 ? matched / total : 0 };
}

/** The owner of a file: an installed package, the Python standard library, or the user's code. */
export function ownerOf(file: string): string {
  if (!file) return "built-in";
  const installed = /(?:site|dist)-packages\/([^/.]+)/.exec(file);
  if (installed) return installed[1]!;
  if (/\/lib(?:64)?\/python3[^/]*\//.test(file) || file.startsWith("<frozen")) return "Python";
  return "your code";
}

/** A frame as a path of sibling indices for the URL: 0.0.2 */
export function framePath(tree: FlameTree, frame: number): string {
  return lineageOf(tree, frame)
    .map((ancestor) => {
      const parent = tree.parents[ancestor]!;
      let index = 0;
      for (let i = 0; i < ancestor; i++) if (tree.parents[i] === parent) index += 1;
      return index;
    })
    .join(".");
}

export function frameOfPath(tree: FlameTree, path: string): number {
  let frame = -1;
  for (const segment of path.split(".").filter(Boolean)) {
    let remaining = Number(segment);
    let child = -1;
    for (let i = 0; i < tree.parents.length && child < 0; i++)
      if (tree.parents[i] === frame && remaining-- === 0) child = i;
    if (child < 0) return frame;
    frame = child;
  }
  return frame;
}
