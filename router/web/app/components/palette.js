// The palette: pages, tables, pipelines, searches and actions by some of their letters.

import { html, useEffect, useMemo, useState } from '../../vendor/core.js';
import { best } from '../lib/fuzzy.js';
import { formatPlace } from '../lib/url.js';
import { Dialog } from './dialog.js';

const mostShown = 12;

/** @typedef {{name: string, note: string, run: () => void}} Entry */

/** @param {{stores: import('../main.js').Stores, pages: {id: string, name: string}[]}} props */
export function Palette({ stores, pages }) {
  const [open, setOpen] = useState(false);
  const { keys } = stores;
  useEffect(() => keys.bind({ 'ctrl+k': ['go to a page, a table, a pipeline', () => setOpen(true)] }), [keys]);
  return html`<button class="goto" data-ui="palette" aria-label="Go to… Ctrl K: a page or a table" onClick=${() => setOpen(true)}>
    <svg width="16" height="16" aria-hidden="true"><path d="M11 11l3.5 3.5M7 12A5 5 0 1 1 7 2a5 5 0 0 1 0 10z" /></svg><span>Go to…</span>
    <kbd>Ctrl K</kbd></button>${open && html`<${PaletteDialog} stores=${stores} pages=${pages} onClose=${() => setOpen(false)} />`}`;
}

/** @param {{stores: import('../main.js').Stores, pages: {id: string, name: string}[], onClose: () => void}} props */
function PaletteDialog({ stores, pages, onClose }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  useEffect(() => {
    if (!stores.pipelineList.list.value.value) void stores.pipelineList.load();
    if (!stores.saved.list.value.value) void stores.saved.load();
  }, []);
  const entries = useMemo(() => entriesOf(stores, pages), [stores.tables.all.value, stores.pipelineList.list.value.value, stores.saved.list.value.value]);
  const shown = best(entries, typed, mostShown);

  /** @param {Entry | undefined} entry */
  function choose(entry) {
    if (!entry) return;
    onClose();
    entry.run();
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (move !== 0) {
      event.preventDefault();
      setAt((at + move + shown.length) % Math.max(1, shown.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose(shown[at]);
    } else if (event.key === 'Escape') {
      event.preventDefault(); // the browser would only clear the text
      onClose();
    }
  }

  return html`<${Dialog} title="Go to" class="palette" onClose=${onClose}>
    <input type="search" data-ui="palette-text" role="combobox" aria-expanded="true" aria-controls="palette-list"
      aria-activedescendant=${shown[at] ? `palette-${at}` : undefined}
      aria-label="Page, table, pipeline, search or action" placeholder="Page, table, pipeline, search or action" autocomplete="off" value=${typed} onKeyDown=${key}
      onInput=${(/** @type {InputEvent} */ e) => {
        setTyped(/** @type {HTMLInputElement} */ (e.currentTarget).value);
        setAt(0);
      }} />
    <ul id="palette-list" role="listbox" aria-label="What fits">${shown.map(
      (entry, i) =>
        html`<li id=${`palette-${i}`} role="option" aria-selected=${i === at} onClick=${() => choose(entry)}><span>${entry.name}</span><small>${entry.note}</small></li>`,
    )}</ul>
    ${shown.length === 0 && html`<p class="quiet none">Nothing matches these letters.</p>`}<//>`;
}

/**
 * @param {import('../main.js').Stores} stores
 * @param {{id: string, name: string}[]} pages
 * @returns {Entry[]}
 */
function entriesOf({ place, tables, pipelineList, saved, prefs, explore }, pages) {
  const go = (/** @type {string} */ address) => () => place.go(address);
  const theme = (/** @type {string} */ name) => ({ name: `Theme: ${name}`, note: 'action', run: () => (prefs.theme.value = name) });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return [
    ...pages.map((p) => ({ name: p.name, note: 'page', run: go(`/dashboard/${p.id}`) })),
    ...tables.all.value.map((t) => ({ name: `${t.db}.${t.name}`, note: 'table', run: go(formatPlace('explore', { db: t.db, t: t.name }, { db: 'public' })) })),
    ...(pipelineList.list.value.value ?? []).map((p) => ({ name: p.name, note: 'pipeline', run: go(formatPlace('pipelines', { name: p.name })) })),
    ...(saved.list.value.value ?? []).map((s) => ({ name: s.name, note: 'saved search', run: go(s.value.address) })),
    ...prefs.history.value.slice(0, 50).map((text) => ({
      name: text,
      note: 'search',
      run: () => (place.page.value === 'explore' ? void explore.search(text) : place.go(formatPlace('explore', { q: text }))),
    })),
    theme('light'),
    theme('dark'),
    theme('system'),
    { name: 'New pipeline', note: 'action', run: go('/dashboard/pipelines?view=new') },
    { name: 'Times in UTC', note: 'action', run: () => (prefs.zone.value = 'UTC') },
    { name: `Times in ${zone}`, note: 'action', run: () => (prefs.zone.value = zone) },
  ];
}
