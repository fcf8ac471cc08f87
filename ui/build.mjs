// Builds the bundles into the Python package, or into the folder in the first argument:
// the dashboard into web/, the script of reports and notebooks into drawing/.
// The output is reproducible.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(process.argv[2] ?? join(here, "../src/sonde"));
const folders = { app: join(root, "web/assets"), report: join(root, "drawing/assets") };
const shipped = ["preact", "@preact/signals", "@preact/signals-core", "uplot"];

async function bundle(name) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { [name]: `src/${name}.tsx` },
    outdir: folders[name],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "warning",
    write: false,
  });
  for (const file of result.outputFiles) {
    await writeFile(file.path, file.contents);
    const kilobytes = (gzipSync(file.contents).length / 1000).toFixed(1);
    console.log(`${relative(root, file.path)}  ${kilobytes} KB gzipped`);
  }
}

async function writeLicenses() {
  const sections = ["The dashboard and the report contain these packages:"];
  for (const name of shipped) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const text = (await readFile(join(folder, "LICENSE"), "utf8")).trim();
    sections.push(`${name} ${version} (${license})\n\n${text}`);
  }
  await writeFile(join(folders.app, "LICENSES.txt"), `${sections.join("\n\n----\n\n")}\n`);
}

await Promise.all(Object.values(folders).map((folder) => mkdir(folder, { recursive: true })));
await Promise.all([bundle("app"), bundle("report"), writeLicenses()]);
