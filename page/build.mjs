// Builds the page into the Python package; `--outdir FOLDER` builds it elsewhere, to compare.
import { cp, readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({
  options: { outdir: { type: "string", default: "../src/streamjoin/dashboard/static" } },
});
const outdir = values.outdir;

await build({
  entryPoints: { page: "src/main.ts" },
  outdir,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
});
for (const name of ["index.html", "icon.svg"]) {
  await cp(`src/${name}`, `${outdir}/${name}`);
}
const license = await readFile("node_modules/uplot/LICENSE", "utf8");
await writeFile(`${outdir}/licenses.txt`, `page.js and page.css contain uPlot:\n\n${license}`);
