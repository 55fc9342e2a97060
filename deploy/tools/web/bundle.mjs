// Bundles the scripts of router/web/app into those that browsers ask for, router/web/bundle, which is part of the
// program: main.js with Explore, editors with the pages that have an editor, others with the other pages, and parts that
// several of them need. The same sources make the same bytes. SOURCES has the hash of what the bundle was made of, so
// that a test without any of these tools finds a bundle that is older than the scripts.
//
// Usage: node bundle.mjs [FOLDER to write to]
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../../router/web');
const to = process.argv[2] ?? path.join(web, 'bundle');

await rm(to, { recursive: true, force: true });
await mkdir(to, { recursive: true });
// The templates of components and pages are HTML, in which a line end with the indentation after it means as much as the
// line end.
const shortTemplates = {
  name: 'short-templates',
  /** @param {import('esbuild').PluginBuild} build */
  setup(build) {
    build.onLoad({ filter: /\/app\/(components|pages)\/[^/]+\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(/\n[ \t]+/g, '\n'),
      loader: 'js',
    }));
  },
};

// All that Explore needs becomes one script, because the pages that are loaded later seem to need all of it. Otherwise
// there would be a script for each set of pages that share a module.
const oneScriptAtFirst = {
  name: 'one-script-at-first',
  /** @param {import('esbuild').PluginBuild} build */
  setup(build) {
    build.onLoad({ filter: /\/app\/pages\/(others|editors)\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')) + "import '../main.js';",
      loader: 'js',
    }));
  },
};

await build({
  absWorkingDir: web,
  entryPoints: ['app/main.js'],
  outdir: to,
  bundle: true,
  splitting: true,
  chunkNames: '[name]-[hash]',
  format: 'esm',
  target: 'es2023',
  minify: true,
  legalComments: 'none',
  plugins: [oneScriptAtFirst, shortTemplates],
});
await writeFile(path.join(to, 'SOURCES'), (await hashOfSources()) + '\n');

/** The hash of the names and texts of all scripts, in the order of their names. */
async function hashOfSources() {
  const names = (await readdir(path.join(web, 'app'), { recursive: true })).filter((name) => name.endsWith('.js')).map((name) => `app/${name}`);
  const sum = createHash('sha256');
  for (const name of [...names, 'vendor/core.js'].sort()) {
    sum.update(`${name}\0`);
    sum.update(await readFile(path.join(web, name)));
  }
  return sum.digest('hex');
}
