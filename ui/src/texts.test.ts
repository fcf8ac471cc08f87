/// <reference types="node" />
// Lists every text of the dashboard in tests/golden/texts/dashboard.txt, where it is reviewed.
// `make texts` rewrites the list. tests/texts.py does the same for Python.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";

const SOURCE = import.meta.dirname;
const LIST = join(SOURCE, "../../tests/golden/texts/dashboard.txt");
// Attributes whose value is shown or read aloud even if it is a single word.
const SHOWN_ATTRIBUTES = new Set(["title", "label", "aria-label", "placeholder", "alt"]);

interface Node {
  type: string;
  [field: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function children(node: Node): Node[] {
  return Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );
}

/** A literal as text, with `{}` for each expression of a template. */
function textOf(node: Node): string | null {
  if (node.type === "JSXText") return String(node.value).replace(/\s+/g, " ").trim();
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type !== "TemplateLiteral") return null;
  const quasis = node.quasis as { value: { cooked: string } }[];
  return quasis.map((quasi) => quasi.value.cooked).join("{}");
}

function isSentence(text: string): boolean {
  const isCode = /[#=;/<>]|^[a-z-]+( [a-z-]+)*--|\d+px|^\.|var\(|^[MLZ] /.test(text);
  return /[A-Za-z}][,.:;]? +[A-Za-z{(]/.test(text) && !isCode;
}

function isSkipped(node: Node): boolean {
  if (node.type === "ImportDeclaration" || node.type.startsWith("TS")) return true;
  const name = isNode(node.name) ? String(node.name.name) : "";
  return node.type === "JSXAttribute" && ["class", "className", "style", "d"].includes(name);
}

function* texts(node: Node, isShown = false): Generator<string> {
  if (isSkipped(node)) return;
  const text = textOf(node);
  const isText = node.type === "JSXText" || isShown;
  if (text && /[A-Za-z]/.test(text) && (isText || isSentence(text))) yield text;
  const name = node.type === "JSXAttribute" && isNode(node.name) ? String(node.name.name) : "";
  for (const child of children(node)) yield* texts(child, SHOWN_ATTRIBUTES.has(name));
}

function page(): string {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.|\.d\.ts|^fakes|^generated/.test(file))
    .sort();
  const sections = files.map((file) => {
    const code = readFileSync(join(SOURCE, file), "utf8");
    const lang = file.endsWith("x") ? "tsx" : "ts";
    const tree = parseAst(code, { lang }) as unknown as Node;
    const items = [...new Set(texts(tree))].map((text) => `- ${text}\n`);
    return items.length ? `# ${relative(SOURCE, join(SOURCE, file))}\n${items.join("")}` : "";
  });
  return sections.filter(Boolean).join("\n");
}

test("the list of the dashboard's texts is current: run `make texts` and review its diff", () => {
  const current = page();
  if (process.env.WRITE_TEXTS) writeFileSync(LIST, current);
  expect(readFileSync(LIST, "utf8")).toBe(current);
});
