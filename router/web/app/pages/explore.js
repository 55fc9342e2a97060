// Explore: search, histogram, fields, rows and one row.

import { html, useEffect, useRef, useState } from '../../vendor/core.js';
import { Compare } from '../components/compare.js';
import { Detail } from '../components/detail.js';
import { FieldList } from '../components/fields.js';
import { colourOf, Histogram } from '../components/histogram.js';
import { ListHead } from '../components/listhead.js';
import { Patterns } from '../components/patterns.js';
import { RangePicker, TablePicker } from '../components/pickers.js';
import { RowDifferences } from '../components/rowdiff.js';
import { Rows } from '../components/rows.js';
import { SavedMenu, ShareMenu } from '../components/share.js';
import { SearchBox } from '../components/search.js';
import { copyText } from '../components/copy.js';
import { Empty, ErrorPanel, Progress } from '../components/states.js';
import { useNarrow } from '../components/narrow.js';
import { curlOf } from '../lib/api.js';
import { clauseFor } from '../lib/edit.js';
import { formatCount, formatDuration } from '../lib/format.js';
import { isBad, levelOf } from '../lib/levels.js';
import { copyLine } from '../lib/line.js';
import { indexOf, rowAt } from '../lib/pages.js';
import { formatSpan, parseSpan } from '../lib/time.js';
import { formatPlace } from '../lib/url.js';
import { sqlWords } from '../lib/sqlwords.js';
import { toast } from '../stores/toast.js';

/** @param {{stores: import('../main.js').Stores}} props */
export function ExplorePage({ stores }) {
  const { explore, tables, prefs } = stores;
  const state = explore.state.value;
  const key = JSON.stringify([state.db, state.tables, state.q, state.from, state.to, state.by, state.order]);
  useEffect(() => {
    void explore.run();
  }, [key]);
  useEffect(() => void explore.loadOpened(), [state.row, explore.list.value.count > 0]);
  useEffect(() => void explore.loadContext(), [state.view, explore.opened.value.value, explore.apart.value]);
  useEffect(() => {
    document.title = `${state.tables.join(', ')}${state.q ? ` · ${state.q}` : ''} · cordwood`;
  }, [key]);
  useKeys(stores);
  const busy = explore.first.since.value || explore.fields.since.value || explore.hits.since.value;
  useEffect(() => {
    if (busy === 0) return undefined;
    const timer = setTimeout(() => void explore.askReads(), 5000);
    return () => clearTimeout(timer);
  }, [busy > 0, key]);
  const seconds = explore.refresh.value;
  useEffect(() => {
    if (seconds === 0) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState !== 'visible') return;
      void explore.refreshNow((document.querySelector('.list [data-ui=rows]')?.scrollTop ?? 0) === 0);
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);

  const all = tables.all.value;
  const exists = all.some((t) => t.db === state.db && t.name === state.tables[0]);
  useEffect(() => {
    if (exists) prefs.table.value = state.tables[0];
  }, [exists, key]);
  if (tables.latest.value.value && all.length === 0) return html`<${NoTable} />`;
  if (!exists && !state.asked && all.length > 0) {
    const table = biggest(all);
    queueMicrotask(() => explore.set({ db: table.db, t: [table.name] }, { replace: true }));
  }
  const error = explore.first.error.value ?? explore.fields.error.value;
  return html`<h1 class="hidden">Explore</h1>
    <form class="ask" role="search" onSubmit=${(/** @type {Event} */ e) => {
      e.preventDefault();
      void explore.search(explore.draft.value);
    }}>
      <${TablePicker} db=${state.db} tables=${state.tables} all=${all}
        onPick=${(/** @type {string} */ db, /** @type {string[]} */ t) => explore.set({ db, t, row: '', cols: '' })} />
      <${SearchBox} text=${explore.draft.value} onText=${(/** @type {string} */ text) => (explore.draft.value = text)}
        onRun=${() => explore.search(explore.draft.value)} fault=${explore.draft.value === state.q ? (error?.at ?? null) : null}
        fields=${explore.fields.value.value?.fields ?? []} valuesOf=${explore.valuesFor} history=${prefs.history.value} />
      <${RangePicker} from=${state.from} to=${state.to} answered=${explore.range.value} zone=${prefs.zone.value}
        onRange=${(/** @type {string} */ from, /** @type {string} */ to) => explore.set({ from, to, row: '' })} />
      <button class="button main" data-ui="run">Run</button>
    </form>
    <${Said} stores=${stores} />
    <${Progress} since=${busy} onCancel=${explore.cancel} slow=${html`<${WhySlow} stores=${stores} />`} />
    <${Sum} stores=${stores} />
    <${Panes} stores=${stores} />`;
}

/** @param {import('../stores/tables.js').TableInfo[]} all */
function biggest(all) {
  return all.reduce((best, t) => (t.db !== 'svc_private' && (best.db === 'svc_private' || t.rows > best.rows) ? t : best));
}

/** The SQL that the search means. @param {{stores: import('../main.js').Stores}} props */
function Said({ stores }) {
  const { explore } = stores;
  const sql = explore.compiled.value.value?.sql ?? '';
  const request = { path: '/v1/explore/rows', body: { ...explore.scope(), limit: 200 } };
  return html`<div class="said" data-ui="sql-line"><code title=${sql}>${sqlWords(sql).map((part) => (part.keyword ? html`<b>${part.text}</b>` : part.text))}</code>
    ${
      sql &&
      html`<a class="text" href=${formatPlace('sql', { db: explore.state.value.db, q: sql }, { db: 'public' })}>Open in SQL</a>
      <button class="text" onClick=${() => copyText(curlOf(/** @type {any} */ (request), location.origin))}>Copy as curl</button>
      <${SavedMenu} stores=${stores} /><${ShareMenu} stores=${stores} frozen=${() => frozenLink(stores)} />`
    }</div>`;
}

/** The address with the range on screen in the place of relative times. @param {import('../main.js').Stores} stores */
function frozenLink({ explore }) {
  const range = explore.range.value;
  const url = new URL(location.href);
  if (range) {
    url.searchParams.set('from', range.from);
    url.searchParams.set('to', range.to);
  }
  return url.href;
}

/** The total, the legend and the histogram. @param {{stores: import('../main.js').Stores}} props */
function Sum({ stores }) {
  const { explore, prefs } = stores;
  const hits = explore.hits.value.value;
  const totalText = hits ? `${hits.exact === false ? '≈ ' : ''}${formatCount(hits.total)} rows` : '';
  const state = explore.state.value;
  const hidden = state.hide.includes('hist');
  const narrow = useNarrow();
  const hide = state.hide.filter((h) => h !== 'hist');
  const taken = explore.first.value.value?.took_ms;
  return html`<section class="sum" aria-label="Total" aria-live="polite">
      ${totalText && html`<h2 data-ui="total">${totalText}</h2>`}
      <span class="quiet">${taken !== undefined && hits ? `in ${formatDuration(Math.max(taken, hits.took_ms))}` : ''}</span>
      <${RefreshPicker} explore=${explore} /><${ByPicker} stores=${stores} /><span class="legend">${(hits?.series ?? []).map(
        (/** @type {{value: unknown, counts: number[]}} */ s, /** @type {number} */ place) => {
          const name = s.value === null ? 'none' : String(s.value);
          const field = state.by === 'level' ? (explore.shape.value.level && explore.shape.value.scheme !== 'status' ? 'level' : 'level') : state.by;
          return html`<button class="text" data-ui=${`legend-${name}`} aria-pressed=${!hide.includes(name)} title="Show only this. With Alt: hide it"
            onClick=${(/** @type {MouseEvent} */ e) => {
              if (e.altKey) {
                const kept = hide.includes(name) ? hide.filter((h) => h !== name) : [...hide, name];
                explore.set({ hide: [...kept, ...(hidden ? ['hist'] : [])].join(',') }, { replace: true });
              } else if (s.value !== null && name !== 'other') void explore.only(clauseFor(field, name, ':'));
            }}><i style=${{ background: colourOf(s.value, place, state.by === 'level') }}></i>${name}<b>${formatCount(s.counts.reduce((a, b) => a + b, 0))}</b></button>`;
        },
      )}</span></section>
    <${ErrorPanel} latest=${explore.hits} what="The histogram" />
    ${
      hits &&
      !hidden &&
      html`<${Histogram} hits=${hits} hidden=${hide} zone=${prefs.zone.value} height=${narrow ? 58 : 72} byLevel=${state.by === 'level'}
      onZoom=${(/** @type {string} */ from, /** @type {string} */ to) => explore.set({ from, to, row: '' })}
      onCompare=${(/** @type {string} */ afrom, /** @type {string} */ ato) => explore.set({ view: 'compare', afrom, ato })} />`
    }`;
}

/** Why a search takes long, and what makes it quicker. @param {{stores: import('../main.js').Stores}} props */
function WhySlow({ stores }) {
  const { explore } = stores;
  const read = explore.reads.value.value?.read;
  const span = parseSpan(explore.state.value.from);
  return html`<span data-ui="why-slow">${read ? `${formatCount(read.rows)} rows${read.of > 0 ? `, in ${formatCount(read.segments)} of ${formatCount(read.of)} segments,` : ''} are read: ` : ''}narrow the time, or name a field</span>
    ${span && span > 600e3 && html` <button class="text go" onClick=${() => explore.set({ from: formatSpan(span / 4), to: '', row: '' })}>A quarter of the time</button>`}
    <button class="text go" onClick=${() => document.getElementById('search')?.focus()}>Name a field</button>`;
}

/** How often the search runs by itself. @param {{explore: import('../stores/explore.js').Explore}} props */
function RefreshPicker({ explore }) {
  return html`<label class="by again">refresh <select aria-label="How often the search runs again" data-ui="refresh" value=${explore.refresh.value}
    onChange=${(/** @type {Event} */ e) => (explore.refresh.value = Number(/** @type {HTMLSelectElement} */ (e.currentTarget).value))}>
    <option value="0">off</option>${[5, 10, 30, 60].map((s) => html`<option value=${s}>${s} s</option>`)}</select></label>`;
}

/** What the bars of the histogram are coloured by. @param {{stores: import('../main.js').Stores}} props */
function ByPicker({ stores }) {
  const { explore } = stores;
  const by = explore.state.value.by;
  const names = [...new Set([...(by === 'level' || by === 'none' ? [] : [by]), ...explore.usefulFields().map((f) => f.name)])];
  return html`<label class="by">by <select aria-label="What the bars are coloured by" data-ui="by" value=${by}
    onChange=${(/** @type {Event} */ e) => explore.set({ by: /** @type {HTMLSelectElement} */ (e.currentTarget).value, hide: '' })}>
    <option value="level">level</option>${names.map((name) => html`<option value=${name}>${name}</option>`)}<option value="none">nothing</option></select></label>`;
}

/** @param {{stores: import('../main.js').Stores}} props */
function Panes({ stores }) {
  const { explore, prefs } = stores;
  const state = explore.state.value;
  const list = explore.list.value;
  const shape = explore.shape.value;
  const opened = explore.opened.value.value;
  const narrow = useNarrow();
  const answer = explore.first.value.value;
  const failed = explore.first.error.value ? explore.first : explore.fields.error.value ? explore.fields : null;
  const selected = state.row ? indexOf(list, state.row) : -1;
  const zone = prefs.zone.value;
  const dim = explore.first.since.value > 0 && answer ? 'dim' : '';
  const facets = explore.facets.value.value;
  const [fieldsOpen, setFields] = useState(false);
  return html`<div class=${`panes ${opened ? '' : 'no-detail'} ${fieldsOpen ? 'fields-open' : ''}`}>
    <${FieldList} onClose=${() => setFields(false)} fields=${explore.fields.value.value?.fields ?? []} useful=${explore.usefulFields().map((/** @type {{name: string}} */ f) => f.name)}
      chosen=${state.cols} open=${explore.openFields.value} facets=${facets?.fields ?? []} exact=${facets?.exact !== false}
      text=${state.q} level=${shape.level} onToggle=${explore.toggleField} onColumn=${explore.toggleColumn}
      onOnly=${explore.only} onWithout=${explore.without} onEither=${explore.either} />
    ${
      state.view === 'context' && state.row
        ? html`<${ContextPane} stores=${stores} />`
        : html`<section class=${`pane list ${dim}`} aria-label="Rows"><${ListHead} stores=${stores} onFields=${() => setFields(true)} />
      ${
        state.view === 'patterns'
          ? html`<${Patterns} stores=${stores} />`
          : state.view === 'compare'
            ? html`<${Compare} stores=${stores} />`
            : failed
              ? html`<${ErrorPanel} latest=${failed} what="The search" />`
              : answer && list.count === 0 && !explore.first.since.value
                ? html`<${NoRows} stores=${stores} />`
                : html`<${Rows} count=${list.count} at=${(/** @type {number} */ i) => rowAt(list, i).row} shape=${shape} columns=${narrow ? [] : state.cols}
                marks=${explore.marks.value} zone=${zone} density=${prefs.density.value} narrow=${narrow}
                label=${`${formatCount(explore.total.value ?? list.count)} rows, ${state.order} first`} selected=${state.row} focus=${explore.picked.value?.end ?? selected} wrap=${state.wrap} picked=${explore.picked.value} onPick=${explore.pick} unfolded=${explore.unfolded.value ? indexOf(list, explore.unfolded.value) : -1}
                onOpen=${(/** @type {import('../lib/line.js').Row} */ row) => explore.open(row.id === state.row ? null : row)}
                onSee=${explore.see} resetKey=${`${explore.range.value?.from}${explore.range.value?.to}${state.q}${state.order}`} />`
      }
      ${
        state.view === 'rows' &&
        html`<div class="foot"><span>${list.count > 0 && `${formatCount(list.count)}${list.next ? '' : ' (all)'} loaded`}</span>
        ${explore.picked.value && html`<span role="status">${formatCount(explore.pickedRows().length)} selected; Y copies them, D compares ${explore.pickedRows().length === 2 ? 'them' : 'the first and the last'}</span>`}
        <span class="grow">${answer?.read && `read ${formatCount(answer.read.segments)} of ${formatCount(answer.read.of)} segments`}</span>
        <span class="wide"><kbd>J K</kbd> move</span><span class="wide"><kbd>↵</kbd> open</span><span class="wide"><kbd>?</kbd> all keys</span></div>`
      }
    </section>`
    }
    ${
      opened &&
      html`<${Detail} row=${opened} shape=${shape} zone=${zone} marks=${explore.marks.value} columns=${state.cols}
      trace=${explore.fields.value.value?.fields.find((/** @type {{role: string}} */ f) => f.role === 'trace')?.name ?? null}
      onContext=${() => explore.set({ view: state.view === 'context' ? 'rows' : 'context' })}
      onMove=${(/** @type {number} */ by) => move(stores, by)} onClose=${() => explore.open(null)}
      onOnly=${explore.only} onWithout=${explore.without} onColumn=${explore.toggleColumn} link=${frozenLink(stores)} />`
    }
    ${
      explore.differing.value &&
      html`<${RowDifferences} a=${explore.differing.value[0]} b=${explore.differing.value[1]} shape=${shape} zone=${zone} onClose=${() => (explore.differing.value = null)} />`
    }
    ${!opened && explore.opened.error.value && html`<section class="pane detail" aria-label="Row"><${ErrorPanel} latest=${explore.opened} what="The row" /></section>`}
  </div>`;
}

/** The rows around the one that is open, of the same source, without the search. @param {{stores: import('../main.js').Stores}} props */
function ContextPane({ stores }) {
  const { explore, prefs } = stores;
  const narrow = useNarrow();
  const answer = explore.around.value.value;
  const state = explore.state.value;
  const rows = explore.contextRows();
  const at = rows.findIndex((row) => row.id === state.row);
  // The row that was asked about is in the middle.
  const focus = answer && state.row === answer.row.id ? Math.min(at + 10, rows.length - 1) : at;
  const sources = [...new Set([...explore.sharedFields(), ...explore.apart.value])];
  return html`<section class="pane list" aria-label="Rows around the row" data-ui="context">
    <div class="head"><h2>In context</h2>
      ${sources.map((name) => {
        const shared = !explore.apart.value.includes(name);
        return html`<button class="text" aria-pressed=${shared} title="Only rows with the same value"
          onClick=${() => (explore.apart.value = shared ? [...explore.apart.value, name] : explore.apart.value.filter((n) => n !== name))}>${shared ? '✓ ' : ''}same ${name}</button>`;
      })}
      <span class="grow"></span><button class="text go" onClick=${() => explore.set({ view: 'rows' })}>Back to the search</button></div>
    ${
      explore.around.error.value
        ? html`<${ErrorPanel} latest=${explore.around} what="Asking for its neighbours" />`
        : answer &&
          html`<${Rows} count=${rows.length} at=${(/** @type {number} */ i) => rows[i] ?? null} shape=${explore.shape.value} columns=${narrow ? [] : state.cols}
            marks=${explore.marks.value} zone=${prefs.zone.value} density=${prefs.density.value} narrow=${narrow} label=${`${rows.length} rows, oldest first`}
            selected=${state.row} focus=${focus} onOpen=${(/** @type {import('../lib/line.js').Row} */ row) => explore.open(row)} />`
    }
    <div class="foot"><span>${answer && `${answer.before.length} rows before, ${answer.after.length} after; the search does not count here`}</span></div>
  </section>`;
}

/** @param {{stores: import('../main.js').Stores}} props */
function NoRows({ stores }) {
  const { explore } = stores;
  const state = explore.state.value;
  const last = explore.fields.value.value?.last_row;
  const ago = last ? Date.now() - new Date(last).getTime() : null;
  const span = parseSpan(state.from) ?? 3600e3;
  return html`<${Empty} title="No row in this range.">
    ${last && ago !== null && html`<p>The newest row of the table is ${formatDuration(Math.max(0, ago))} old.</p>`}
    <p class="acts">
      ${last && html`<button class="button" onClick=${() => explore.set({ from: new Date(new Date(last).getTime() - span).toISOString(), to: new Date(new Date(last).getTime() + 1000).toISOString() })}>Show it</button>`}
      <button class="button" onClick=${() => explore.set({ from: formatSpan(Math.max(86400e3, span * 24)), to: '' })}>Look further back</button>
      ${state.q && html`<button class="button" onClick=${() => explore.search('')}>Without the search</button>`}
    </p><//>`;
}

function NoTable() {
  return html`<h1 class="hidden">Explore</h1><${Empty} title="There is no table yet.">
    <p>The first rows that you send to a table create it.</p>
    <p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p><//>`;
}

/**
 * Opens the row so many rows below the one that is open.
 * @param {import('../main.js').Stores} stores
 * @param {number} by
 */
function move({ explore }, by) {
  const { view, row: id } = explore.state.value;
  if (view === 'context') {
    const rows = explore.contextRows();
    const next = rows[rows.findIndex((r) => r.id === id) + by];
    if (next) explore.open(next);
    return;
  }
  const list = explore.list.value;
  const at = indexOf(list, id);
  const { row } = rowAt(list, Math.max(0, Math.min(list.count - 1, at + by)));
  if (row) explore.open(row);
}

/**
 * Opens the next row of warning or worse.
 * @param {import('../main.js').Stores} stores
 * @param {number} by
 */
function moveToBad({ explore }, by) {
  const list = explore.list.value;
  const { level, scheme } = explore.shape.value;
  for (let i = indexOf(list, explore.state.value.row) + by; i >= 0 && i < list.count; i += by) {
    const { row } = rowAt(list, i);
    if (row && level && isBad(levelOf(row.v[level], scheme))) return explore.open(row);
  }
  return toast('No further warning or error among the loaded rows.');
}

/**
 * @param {import('../main.js').Stores} stores
 * @param {number} by
 */
function pickMore({ explore }, by) {
  explore.pick((explore.picked.value?.end ?? indexOf(explore.list.value, explore.state.value.row)) + by);
}

/**
 * @param {import('../main.js').Stores} stores
 * @param {string} view
 */
function toggleView({ explore }, view) {
  explore.set({ view: explore.state.value.view === view ? 'rows' : view });
}

/** Shows in which fields the first and the last of the selected rows differ. @param {import('../main.js').Stores} stores */
function compareRows({ explore }) {
  const rows = explore.pickedRows();
  if (rows.length < 2) return false;
  explore.differing.value = [rows[0], rows[rows.length - 1]];
  return true;
}

/** @param {import('../main.js').Stores} stores */
function copyRows({ explore }) {
  const rows = explore.pickedRows();
  const one = explore.opened.value.value;
  const { shape, state } = explore;
  if (rows.length > 0) void copyText(rows.map((row) => copyLine(row, shape.value, state.value.cols)).join('\n'));
  else if (one) void copyText(copyLine(one, shape.value, state.value.cols));
}

/** @param {import('../main.js').Stores} stores */
function useKeys(stores) {
  const { keys, explore, prefs, place } = stores;
  const now = useRef(stores);
  now.current = stores;
  useEffect(() => {
    const hide = () => {
      const { hide } = explore.state.value;
      const changed = hide.includes('hist') ? hide.filter((h) => h !== 'hist') : [...hide, 'hist'];
      explore.set({ hide: changed.join(',') }, { replace: true });
    };
    const zones = [...new Set([Intl.DateTimeFormat().resolvedOptions().timeZone, 'UTC'])];
    return keys.bind({
      '/': ['search', () => document.getElementById('search')?.focus()],
      j: ['next row', () => move(stores, 1)],
      ArrowDown: ['next row', () => move(stores, 1)],
      k: ['previous row', () => move(stores, -1)],
      ArrowUp: ['previous row', () => move(stores, -1)],
      Escape: [
        'close the row, then clear the selection',
        () => (explore.state.value.row ? explore.open(null) : ((explore.picked.value = null), (explore.unfolded.value = ''))),
      ],
      J: ['select more rows', () => pickMore(stores, 1)],
      K: ['select fewer rows', () => pickMore(stores, -1)],
      x: ['patterns, and back', () => toggleView(stores, 'patterns')],
      d: ['what is different, and back; of selected rows, the first and the last', () => compareRows(stores) || toggleView(stores, 'compare')],
      'shift+Enter': ['unfold the row in its place', () => explore.unfold() || toast('Open or select a row first.')],
      w: ['wrap lines', () => explore.set({ wrap: explore.state.value.wrap ? '' : '1' }, { replace: true })],
      e: ['export', () => /** @type {HTMLElement | null} */ (document.querySelector('[data-ui=export]'))?.click()],
      '[': ['previous warning or worse', () => moveToBad(stores, -1)],
      ']': ['next warning or worse', () => moveToBad(stores, 1)],
      l: [
        'follow from here',
        () => place.go(formatPlace('tail', { db: explore.state.value.db, t: explore.state.value.tables[0], q: explore.state.value.q }, { db: 'public' })),
      ],
      c: ['rows around this one', () => explore.state.value.row && explore.set({ view: explore.state.value.view === 'context' ? 'rows' : 'context' })],
      f: ['find a field', () => document.getElementById('field-find')?.focus()],
      h: ['show or hide the histogram', hide],
      t: ['time range', () => /** @type {HTMLElement | null} */ (document.querySelector('[data-ui=range]'))?.click()],
      z: ['switch the zone', () => (prefs.zone.value = zones[(zones.indexOf(prefs.zone.value) + 1) % zones.length])],
      y: ['copy the selected rows, or the row', () => copyRows(stores)],
      'ctrl+Enter': ['run', () => void explore.search(explore.draft.value)],
    });
  }, [keys, explore, prefs, place]);
}
