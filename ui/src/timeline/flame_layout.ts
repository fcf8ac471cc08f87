// Where the frames of a flame graph stand, and what the keys move to. Knows no canvas.

/** One entry per frame; a parent comes before its children, −1 is none; brothers are in order. */
export type FlameTree = {
  names: readonly string[];
  files: readonly string[];
  parents: Int32Array;
  totals: Float64Array;
  selves: Float64Array;
  counts: ArrayLike<number>;
};
/** From where to where each frame reaches, as shares of the whole, and how deep it lies. */
export type FlameLayout = {
  from: Float64Array;
  to: Float64Array;
  depth: Uint16Array;
  rows: number;
  whole: number;
};

export function layFlame(tree: FlameTree): FlameLayout {
  const count = tree.parents.length;
  const from = new Float64Array(count),
    to = new Float64Array(count),
    depth = new Uint16Array(count);
  const filled = new Float64Array(count + 1);
  let whole = 0;
  for (let i = 0; i < count; i++) if (tree.parents[i]! < 0) whole += tree.totals[i]!;
  let rows = 0;
  for (let i = 0; i < count; i++) {
    const parent = tree.parents[i]!;
    const place = parent < 0 ? count : parent;
    const left = (parent < 0 ? 0 : from[parent]!) + filled[place]!;
    const width = whole > 0 ? tree.totals[i]! / whole : 0;
    filled[place]! += width;
    from[i] = left;
    to[i] = left + width;
    depth[i] = parent < 0 ? 0 : depth[parent]! + 1;
    rows = Math.max(rows, depth[i]! + 1);
  }
  return { from, to, depth, rows, whole };
}

/** A frame and everything that calls it, the outermost first. */
export function lineageOf(tree: FlameTree, frame: number): number[] {
  const found: number[] = [];
  for (let at = frame; at >= 0; at = tree.parents[at]!) found.unshift(at);
  return found;
}

/** The frame at a share of the shown width and a row; −1 of none. `zoom` fills the width, −1 is all. */
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

/** Where an arrow key leads from a frame: up to who calls it, down to what it calls most, sideways to its brothers. */
export function neighbour(tree: FlameTree, frame: number, key: string): number {
  if (frame < 0) return tree.parents.length ? 0 : -1;
  const parent = tree.parents[frame]!;
  if (key === "ArrowUp") return parent < 0 ? frame : parent;
  if (key === "ArrowDown") {
    const child = tree.parents.indexOf(frame);
    return child < 0 ? frame : child;
  }
  const brothers: number[] = [];
  for (let i = 0; i < tree.parents.length; i++) if (tree.parents[i] === parent) brothers.push(i);
  const place = brothers.indexOf(frame) + (key === "ArrowRight" ? 1 : -1);
  return brothers[place] ?? frame;
}

/** Which frames have a text in their name, and which share of the time lies in them; what lies in another is not counted twice. */
export function searchFlame(tree: FlameTree, text: string): { isHit: Uint8Array; share: number } {
  const isHit = new Uint8Array(tree.parents.length),
    isInside = new Uint8Array(tree.parents.length);
  const wanted = text.trim().toLowerCase();
  let whole = 0,
    found = 0;
  for (let i = 0; i < tree.parents.length; i++) {
    const parent = tree.parents[i]!;
    if (parent < 0) whole += tree.totals[i]!;
    isHit[i] = wanted && tree.names[i]!.toLowerCase().includes(wanted) ? 1 : 0;
    const isBelow = parent >= 0 && isInside[parent] === 1;
    if (isHit[i] && !isBelow) found += tree.totals[i]!;
    isInside[i] = isBelow || isHit[i] ? 1 : 0;
  }
  return { isHit, share: whole > 0 ? found / whole : 0 };
}

/** Whose code it is: a package that was installed, the library of Python, or the script's own. */
export function ownerOf(file: string): string {
  if (!file) return "built in";
  const installed = /(?:site|dist)-packages\/([^/.]+)/.exec(file);
  if (installed) return installed[1]!;
  if (/\/lib(?:64)?\/python3[^/]*\//.test(file) || file.startsWith("<frozen")) return "Python";
  return "own code";
}

/** A frame by the places of its callers among their brothers, as it stands in the address: 0.0.2 */
export function framePath(tree: FlameTree, frame: number): string {
  return lineageOf(tree, frame)
    .map((one) => {
      const parent = tree.parents[one]!;
      let place = 0;
      for (let i = 0; i < one; i++) if (tree.parents[i] === parent) place += 1;
      return place;
    })
    .join(".");
}

export function frameOfPath(tree: FlameTree, path: string): number {
  let frame = -1;
  for (const part of path.split(".").filter(Boolean)) {
    let left = Number(part);
    let found = -1;
    for (let i = 0; i < tree.parents.length && found < 0; i++)
      if (tree.parents[i] === frame && left-- === 0) found = i;
    if (found < 0) return frame;
    frame = found;
  }
  return frame;
}
