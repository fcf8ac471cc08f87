// A part of the page as a PNG image: a copy with resolved styles, drawn through an SVG image.

import { color } from "../colors";

const SCALE = 2; // pixels per CSS pixel, so that texts stay sharp on slides
const MARGIN = 16;
const SVG = "http://www.w3.org/2000/svg";
const CONTROLS =
  "header :is(button, select, label), .chart-head :is(button, select, label), .popover-box";

/** Copies the resolved style of an element and its descendants, and the content of canvases. */
function resolveStyles(source: Element, copy: Element): void {
  const style = getComputedStyle(source);
  const text = Array.from(style, (name) => `${name}:${style.getPropertyValue(name)}`).join(";");
  // a policy against inline styles blocks the attribute, not the property
  (copy as HTMLElement).style.cssText = `${text};transition:none;animation:none`;
  Array.from(source.children).forEach((child, i) => {
    const childCopy = copy.children[i];
    if (!childCopy) return;
    resolveStyles(child, childCopy);
    if (!(child instanceof HTMLCanvasElement)) return;
    const image = document.createElement("img");
    image.src = child.toDataURL();
    image.style.cssText = (childCopy as HTMLElement).style.cssText;
    childCopy.replaceWith(image);
  });
}

function pageOf(element: HTMLElement): { svg: string; width: number; height: number } {
  const { width, height } = element.getBoundingClientRect();
  const copy = element.cloneNode(true) as HTMLElement;
  resolveStyles(element, copy);
  for (const control of copy.querySelectorAll<HTMLElement>(CONTROLS))
    control.style.display = "none";
  copy.style.margin = "0";
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  const content = document.createElementNS(SVG, "foreignObject");
  content.setAttribute("width", "100%");
  content.setAttribute("height", "100%");
  content.append(copy);
  svg.append(content);
  return { svg: new XMLSerializer().serializeToString(svg), width, height };
}

/** The element as an image, on the background of cards. */
export async function pictureOf(element: HTMLElement): Promise<Blob> {
  const { svg, width, height } = pageOf(element);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round((width + 2 * MARGIN) * SCALE);
  canvas.height = Math.round((height + 2 * MARGIN) * SCALE);
  const g = canvas.getContext("2d")!;
  g.scale(SCALE, SCALE);
  g.fillStyle = color("--card");
  g.fillRect(0, 0, width + 2 * MARGIN, height + 2 * MARGIN);
  g.drawImage(image, MARGIN, MARGIN, width, height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("empty image"))), "image/png"),
  );
}
