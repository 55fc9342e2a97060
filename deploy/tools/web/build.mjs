// Builds router/web/vendor: core.js (Preact, its hooks, htm and signals as one module), the fonts, and the licence
// texts of every package that is in them. esbuild's output is the same each time, so that CI builds again and compares.
import { build } from 'esbuild';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(here, 'node_modules');
const vendor = path.join(here, '../../../router/web/vendor');

const core = `
export { h, render, Fragment, createContext } from 'preact';
export { useEffect, useLayoutEffect, useRef, useMemo, useCallback, useId, useState, useContext } from 'preact/hooks';
export { signal, computed, effect, batch, untracked } from '@preact/signals';
import { h } from 'preact';
import htm from 'htm';
export const html = htm.bind(h);
`;

const fonts = {
  'plex-sans.woff2': '@fontsource-variable/ibm-plex-sans/files/ibm-plex-sans-latin-wght-normal.woff2',
  'plex-mono-400.woff2': '@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-400-normal.woff2',
  'plex-mono-600.woff2': '@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-600-normal.woff2',
};

const packages = [
  'preact',
  'htm',
  '@preact/signals',
  '@preact/signals-core',
  '@fontsource-variable/ibm-plex-sans',
  '@fontsource/ibm-plex-mono',
];

await rm(vendor, { recursive: true, force: true });
await mkdir(path.join(vendor, 'fonts'), { recursive: true });
await build({
  stdin: { contents: core, resolveDir: here, sourcefile: 'core.js' },
  outfile: path.join(vendor, 'core.js'),
  bundle: true,
  format: 'esm',
  target: 'es2023',
  minify: true,
  legalComments: 'none',
});
for (const [name, source] of Object.entries(fonts)) {
  await cp(path.join(modules, source), path.join(vendor, 'fonts', name));
}

await cp(path.join(here, 'core.d.ts'), path.join(vendor, 'core.d.ts'));

const versions = [];
for (const name of packages) {
  const about = JSON.parse(await readFile(path.join(modules, name, 'package.json'), 'utf8'));
  versions.push(`${name} ${about.version} ${about.license}`);
  const folder = path.join(vendor, 'licences', name);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'LICENSE'), await licenceOf(name));
}
await writeFile(path.join(vendor, 'VERSIONS'), versions.join('\n') + '\n');

/** @param {string} name */
async function licenceOf(name) {
  for (const file of ['LICENSE', 'LICENSE.md', 'LICENSE.txt']) {
    const text = await readFile(path.join(modules, name, file), 'utf8').catch(() => '');
    if (text) return text.trim() + '\n';
  }
  throw new Error(`${name} has no licence text`);
}
