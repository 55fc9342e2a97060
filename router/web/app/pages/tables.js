// Tables: the list, and one table with its actions.

import { html, useEffect, useMemo, useState } from '../../vendor/core.js';
import { useIgnored } from '../components/ignored.js';
import { useNarrow } from '../components/narrow.js';
import { NoTable } from '../components/norows.js';
import { Empty, ErrorPanel, Progress } from '../components/states.js';
import { TableDetail } from '../components/table.js';
import { VirtualList } from '../components/virtual.js';
import { formatBytes, formatCount, formatDuration, spacedTtl } from '../lib/format.js';
import { unknownParts } from '../lib/url.js';
import { bytesOfRow } from '../stores/tables.js';

/** @typedef {import('../stores/tables.js').TableInfo} TableInfo */

/** @type {[string, string, ((t: TableInfo) => string | number) | null, string][]} the columns: id, name, what they sort by, look */
const columns = [
  ['name', 'table', (t) => `${t.db}.${t.name}`, 'name'],
  ['rows', 'rows', (t) => t.rows, 'r'],
  ['bytes', 'bytes', (t) => t.bytes, 'r'],
  ['last', 'newest row', null, 'r opt'],
  ['each', 'bytes a row', (t) => (t.rows > 0 ? bytesOfRow(t) : 0), 'r opt'],
  ['ttl', 'kept for', (t) => t.ttl, 'opt'],
  ['shards', 'shards', (t) => t.shards[0] ?? 0, 'r opt'],
  ['created', 'created', (t) => t.created, 'opt'],
];

const mostAsked = 500; // tables whose newest rows are asked for, to sort by them

/** @param {{stores: import('../main.js').Stores}} props */
export function TablesPage({ stores }) {
  const { tables, place } = stores;
  const params = place.here.value.params;
  const [db, name] = [params.get('db') ?? 'public', params.get('t') ?? ''];
  useIgnored(place.page.value === 'tables' ? unknownParts(params, { db: null, t: null }) : []);
  const [find, setFind] = useState('');
  const [sort, setSort] = useState({ by: 'name', down: false });
  useEffect(() => {
    void tables.load();
  }, [tables]);
  useEffect(() => {
    document.title = name ? `${db}.${name} · cordwood` : 'Tables · cordwood';
  }, [db, name]);
  useEffect(
    () =>
      stores.keys.bind({
        '/': ['find a table', () => document.getElementById('table-find')?.focus()],
        Escape: ['close the table', () => open('', '')],
      }),
    [stores],
  );

  /**
   * @param {string} ofDb
   * @param {string} table
   */
  function open(ofDb, table) {
    place.set('tables', { db: ofDb, t: table }, { db: 'public' });
  }

  const all = tables.all.value;
  const times = sort.by === 'last' ? stores.lastRows.times.value : null;
  const shown = useMemo(() => sorted(all, find, sort, stores.lastRows), [all, find, sort, times]);
  const one = name ? all.find((t) => t.db === db && t.name === name) : undefined;
  const known = tables.latest.value.value !== null;
  return html`<h1 class="hidden">Tables</h1>
    <${Progress} since=${known ? 0 : tables.latest.since.value} onCancel=${tables.latest.cancel} />
    <div class=${`panes two ${name ? '' : 'no-detail'}`}>
      <section class="pane list" aria-label="Tables">
        <div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${find}
            onInput=${(/** @type {InputEvent} */ e) => setFind(/** @type {HTMLInputElement} */ (e.currentTarget).value)} />
          <span class="quiet">${known && said(all, shown)}</span>${all.length > 0 && html`<${SortPicker} sort=${sort} onSort=${setSort} />`}</div>
        <${ErrorPanel} latest=${tables.latest} what="Asking for the tables" />
        ${known && all.length === 0 && html`<${NoTable} signIn=${stores.signIn} />`}
        ${all.length > 0 && html`<${TableList} shown=${shown} sort=${sort} onSort=${setSort} selected=${one} onOpen=${open} lastRows=${stores.lastRows} />`}
      </section>
      ${
        name &&
        (one || !known
          ? html`<${TableDetail} key=${`${db}.${name}`} db=${db} name=${name} info=${one} stores=${stores} onClose=${() => open('', '')} />`
          : html`<section class="pane detail" aria-label="Table"><${Empty} title=${`There is no table ${db}.${name}.`}>
              <p class="acts"><button class="button" onClick=${() => open('', '')}>Close</button></p><//></section>`)
      }
    </div>`;
}

/**
 * What the tables are sorted by, where the columns have no place.
 * @param {{sort: {by: string, down: boolean}, onSort: (sort: {by: string, down: boolean}) => void}} props
 */
function SortPicker({ sort, onSort }) {
  return html`<span class="grow small-only"></span><label class="by small-only">by <select aria-label="What the tables are sorted by" data-ui="sort" value=${sort.by}
    onChange=${(/** @type {Event} */ e) => {
      const by = /** @type {HTMLSelectElement} */ (e.currentTarget).value;
      onSort({ by, down: columns.some(([id, , , look]) => id === by && look.startsWith('r')) });
    }}>${columns.map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>`;
}

/**
 * @param {TableInfo[]} all
 * @param {TableInfo[]} shown
 */
function said(all, shown) {
  const bytes = shown.reduce((sum, t) => sum + t.bytes, 0);
  const count =
    all.length === shown.length
      ? `${formatCount(all.length)} ${all.length === 1 ? 'table' : 'tables'}`
      : `${formatCount(shown.length)} of ${formatCount(all.length)} tables`;
  return `${count}, ${formatBytes(bytes)}`;
}

/**
 * @param {TableInfo[]} all
 * @param {string} find
 * @param {{by: string, down: boolean}} sort
 * @param {import('../stores/lastrows.js').LastRows} lastRows
 */
function sorted(all, find, sort, lastRows) {
  const wanted = find.trim().toLowerCase();
  const newest = (/** @type {TableInfo} */ t) => Date.parse(lastRows.of(t) || '') || 0;
  const valueOf = sort.by === 'last' ? newest : (columns.find(([id]) => id === sort.by)?.[2] ?? ((t) => `${t.db}.${t.name}`));
  const order = new Intl.Collator('en', { numeric: true });
  const list = all.filter((t) => `${t.db}.${t.name}`.toLowerCase().includes(wanted));
  list.sort((a, b) => {
    const [x, y] = [valueOf(a), valueOf(b)];
    return typeof x === 'number' && typeof y === 'number' ? x - y : order.compare(String(x), String(y));
  });
  return sort.down ? list.reverse() : list;
}

/**
 * @param {object} props
 * @param {TableInfo[]} props.shown
 * @param {{by: string, down: boolean}} props.sort
 * @param {(sort: {by: string, down: boolean}) => void} props.onSort
 * @param {TableInfo | undefined} props.selected
 * @param {(db: string, name: string) => void} props.onOpen
 * @param {import('../stores/lastrows.js').LastRows} props.lastRows
 */
function TableList({ shown, sort, onSort, selected, onOpen, lastRows }) {
  const narrow = useNarrow();
  useEffect(() => lastRows.stop, [lastRows]);
  const head = columns.map(([id, name, , look]) => {
    const by = sort.by === id;
    return html`<button class=${look} aria-pressed=${by} title=${`Sort by ${name}`}
      onClick=${() => onSort({ by: id, down: by ? !sort.down : look.startsWith('r') })}>${name}${by && (sort.down ? ' ↓' : ' ↑')}</button>`;
  });

  /** @param {number} index */
  function row(index) {
    const t = shown[index];
    const on = t === selected;
    return html`<div class=${`row tablerow ${on ? 'on' : ''}`} role="row" aria-rowindex=${index + 1} aria-selected=${on} key=${`${t.db}.${t.name}`}
      data-ui="table-row" data-name=${t.name} onClick=${() => onOpen(t.db, t.name)}>
      <span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({ db: t.db, t: t.name })}`}><b>${t.db}.</b>${t.name}</a></span>
      <span class="r" role="gridcell">${t.sized && formatCount(t.rows)}</span><span class="r" role="gridcell">${t.sized && formatBytes(t.bytes)}</span>
      <span class="r opt" role="gridcell" data-ui="last-row" title=${lastRows.of(t)}>${agoText(lastRows.of(t))}</span>
      <span class="r opt" role="gridcell">${t.rows > 0 ? formatBytes(bytesOfRow(t)) : ''}</span><span class="opt" role="gridcell">${spacedTtl(t.ttl)}</span>
      <span class="r opt" role="gridcell">${t.shards.join(', ')}</span><span class="opt" role="gridcell">${t.created.slice(0, 10)}</span></div>`;
  }

  return html`<div class="tablehead tablerow">${head}</div>
    <div class="rows"><${VirtualList} count=${shown.length} height=${narrow ? 44 : 28} label=${`${shown.length} tables`} row=${row}
      onSee=${(/** @type {number} */ from, /** @type {number} */ to) => void lastRows.see(sort.by === 'last' ? shown.slice(0, mostAsked) : narrow ? [] : shown.slice(from, to))}
      focus=${selected ? shown.indexOf(selected) : -1} resetKey=${`${sort.by}${sort.down}`} /></div>`;
}

/** @param {string | undefined} time of the newest row */
function agoText(time) {
  if (time === undefined) return '';
  return time ? `${formatDuration(Math.max(0, Date.now() - new Date(time).getTime()))} ago` : 'none';
}
