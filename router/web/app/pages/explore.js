// Explore: search, histogram, fields, rows and one row.

import { html, useEffect, useMemo, useRef, useState } from '../../vendor/core.js';
import { ContextPane } from '../components/context.js';
import { Detail } from '../components/detail.js';
import { move, useExploreKeys } from '../components/explorekeys.js';
import { Sum } from '../components/exploresum.js';
import { FieldList } from '../components/fields.js';
import { useIgnored } from '../components/ignored.js';
import { Later, withStores } from '../components/later.js';
import { ListHead } from '../components/listhead.js';
import { NoRows, NoTable } from '../components/norows.js';
import { RangePicker, TablePicker } from '../components/pickers.js';
import { RowDifferences } from '../components/rowdiff.js';
import { Rows } from '../components/rows.js';
import { Menu } from '../components/menu.js';
import { SavedList, SavedMenu, ShareChoices, ShareMenu } from '../components/share.js';
import { Splitter } from '../components/splitter.js';
import { SearchBox } from '../components/search.js';
import { copyText } from '../components/copy.js';
import { ErrorPanel, Missing, Progress, Skeleton } from '../components/states.js';
import { columnsFor, useNarrow, useTight } from '../components/narrow.js';
import { curlOf } from '../lib/api.js';
import { formatCount, visible, visibleLines } from '../lib/format.js';
import { indexOf, rowAt } from '../lib/pages.js';
import { formatPlace } from '../lib/url.js';
import { exploreDefaults } from '../stores/explorestate.js';
import { sqlPieces } from '../lib/sqltext.js';

/** @typedef {import('../main.js').Stores} Stores */

/** @param {Stores} stores */
const others = (stores) => withStores(import('./others.js'), stores);
const views = new Map([
  ['patterns', async (/** @type {Stores} */ stores) => (await others(stores)).Patterns],
  ['compare', async (/** @type {Stores} */ stores) => (await others(stores)).Compare],
]);

/** @param {{stores: import('../main.js').Stores}} props */
export function ExplorePage({ stores }) {
  const { explore, tables, prefs } = stores;
  const state = explore.state.value;
  const key = JSON.stringify([state.db, state.tables, state.q, state.from, state.to, state.by, state.order, state.partial, explore.roles.value]);
  const byDefault = useRef(!state.asked); // the table is the one that was used last, and may be gone
  useMemo(() => explore.comeBack(), []); // before the rows of the former list are drawn, which is then at its top
  useEffect(() => explore.runOnce(), [key]);
  useEffect(() => void explore.loadOpened(), [state.row, explore.list.value.count > 0]);
  useEffect(() => void explore.loadContext(), [state.view, explore.opened.value.value, explore.apart.value]);
  useEffect(() => {
    document.title = visible(`${state.tables.join(', ')}${state.q ? ` · ${state.q}` : ''} · cordwood`);
  }, [key]);
  useEffect(() => explore.recallColumns(), [state.db, state.tables.join()]);
  useExploreKeys(stores);
  useIgnored([...explore.ignored.value, ...explore.missingFields.value]);
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
    if (exists && state.db === exploreDefaults.db) prefs.table.value = state.tables[0];
    if (exists) byDefault.current = false;
  }, [exists, key]);
  const own = all.filter((t) => t.db !== 'svc_private');
  if (tables.latest.value.value && own.length === 0 && !state.asked) {
    return html`<h1 class="hidden">Explore</h1><${NoTable} signIn=${stores.signIn} others=${all} />`;
  }
  if (!exists && byDefault.current && own.length > 0) {
    const table = biggest(own);
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
    <${Progress} since=${busy} />
    <${Missing} missing=${explore.missing.value} onAgain=${() => explore.set({ partial: '' })} />
    <${Sum} stores=${stores} since=${busy} />
    <${Panes} stores=${stores} />`;
}

/**
 * Gives the list the focus when what had it is closed.
 * @param {string} shown what stands over or beside the list
 */
function useKeptFocus(shown) {
  const before = useRef(shown);
  useEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    if (document.activeElement !== document.body) return;
    const view = shown.startsWith('rows') ? null : document.querySelector('.list .tabs [aria-pressed=true]');
    const list = document.querySelector('.list [data-ui=rows]') ?? view; // a list that is loading takes the keys without it
    /** @type {HTMLElement | null} */ (list)?.focus({ preventScroll: true });
  }, [shown]);
}

/** @param {import('../stores/tables.js').TableInfo[]} all */
function biggest(all) {
  return all.reduce((best, t) => (t.rows > best.rows ? t : best));
}

/** The SQL of the search. @param {{stores: import('../main.js').Stores}} props */
function Said({ stores }) {
  const { explore } = stores;
  const sql = explore.compiled.value.value?.sql ?? '';
  const request = { path: '/v1/explore/rows', body: { ...explore.scope(), limit: 200 } };
  const tight = useTight();
  const saved = { saved: stores.saved, place: stores.place, user: stores.signIn.user.value };
  const share = { stores, frozen: () => frozenLink(stores) };
  const acts = (
    /** @type {string} */ look,
  ) => html`${sql && html`<a class=${look} href=${formatPlace('sql', { db: explore.state.value.db, q: sql }, { db: 'public' })}>Open in SQL</a>`}
    <button class=${look} onClick=${() => copyText(curlOf(/** @type {any} */ (request), location.origin, stores.signIn.user.value))}>Copy as curl</button>`;
  return html`<div class="said" data-ui="sql-line"><code title=${visibleLines(sql)}>
    ${sqlPieces(sql).map((part) => (part.kind === 'key' ? html`<b>${part.text}</b>` : visible(part.text)))}</code>
    ${
      tight
        ? html`<${Menu} button=${html`<span>More</span><span class="caret"></span>`} label="More of this search" ui="search-acts" class="text change"
          panelClass="searchacts">${(/** @type {() => void} */ close) =>
            html`${acts('choice')}<h3>Share</h3><${ShareChoices} ...${share} onDone=${close} /><h3>Saved</h3><${SavedList} ...${saved} onDone=${close} />`}<//>`
        : html`${acts('text')}<${SavedMenu} ...${saved} /><${ShareMenu} ...${share} />`
    }</div>`;
}

/** The address with the range on screen in the place of relative times. @param {import('../main.js').Stores} stores */
function frozenLink({ explore, place }) {
  const range = explore.range.value;
  const url = new URL(place.address(), location.origin);
  if (range) {
    url.searchParams.set('from', range.from);
    url.searchParams.set('to', range.to);
  }
  return url.href;
}

/** @param {{stores: import('../main.js').Stores}} props */
function Panes({ stores }) {
  const { explore, prefs } = stores;
  const state = explore.state.value;
  const list = explore.list.value;
  const shape = explore.shape.value;
  const opened = explore.opened.value.value;
  const lost = !opened && explore.opened.error.value !== null;
  const narrow = useNarrow();
  useKeptFocus(`${state.view} ${opened !== null}`);
  const answer = explore.first.value.value;
  const failed = explore.first.error.value ? explore.first : explore.fields.error.value ? explore.fields : null;
  const selected = state.row ? indexOf(list, state.row) : -1;
  const zone = prefs.zone.value;
  const dim = explore.first.since.value > 0 && answer ? 'dim' : '';
  const facets = explore.facets.value.value;
  const [fieldsOpen, setFields] = useState(false);
  const [left, right] = [widthOf(prefs.fieldsWidth.value, 256), widthOf(prefs.detailWidth.value, 412)];
  const hidden = prefs.fieldsShown.value === 'no';
  return html`<div class=${`panes ${opened || lost ? '' : 'no-detail'} ${hidden ? 'no-fields' : ''} ${fieldsOpen ? 'fields-open' : ''}`}
    style=${{ '--left': `${left}px`, '--right': `${right}px` }}>
    ${
      !hidden &&
      html`<${Splitter} side="left" width=${left} least=${180} most=${600} label="Width of the fields"
      onWidth=${(/** @type {number} */ w) => (prefs.fieldsWidth.value = String(w))} onClose=${() => (prefs.fieldsShown.value = 'no')} />`
    }
    ${
      opened &&
      html`<${Splitter} side="right" width=${right} least=${280} most=${900} label="Width of the row"
      onWidth=${(/** @type {number} */ w) => (prefs.detailWidth.value = String(w))} onClose=${() => explore.open(null)} />`
    }
    <${FieldList} onClose=${() => setFields(false)} fields=${explore.listed.value} useful=${explore.usefulFields().map((f) => f.name)}
      chosen=${explore.cols.value} open=${explore.refused.value ? [] : explore.openFields.value} facets=${facets?.fields ?? []}
        failed=${html`<${ErrorPanel} latest=${explore.facets} what="Counting the values" />`}
        exact=${(/** @type {{sampled?: boolean, stats?: {sampled?: boolean}}} */ facet) => !facet.sampled && !facet.stats?.sampled}
      text=${state.q} shape=${shape} levels=${explore.levels.value} onToggle=${explore.toggleField} onColumn=${explore.toggleColumn}
      onOnly=${explore.only} onWithout=${explore.without} onEither=${explore.either} onFind=${explore.findValues} />
    ${
      state.view === 'context' && state.row
        ? html`<${ContextPane} stores=${stores} />`
        : html`<section class=${`pane list ${dim}`} aria-label="Rows">
          <${ListHead} stores=${stores} onFields=${() => (setFields(true), (prefs.fieldsShown.value = 'yes'))} fieldsHidden=${hidden} />
      ${
        views.has(state.view)
          ? html`<${Later} key=${state.view} id=${state.view} load=${views.get(state.view)} stores=${stores} />`
          : failed
            ? html`<${ErrorPanel} latest=${failed} what="The search" onPartial=${() => explore.set({ partial: '1' })}
              onNearest=${(/** @type {string} */ name) => explore.search(explore.replaceFault(name))} onText=${() => explore.search(explore.faultAsText())} />`
            : !answer && explore.first.since.value > 0
              ? html`<${Skeleton} />`
              : answer && list.count === 0 && !explore.first.since.value
                ? html`<${NoRows} explore=${explore} />`
                : html`<${Rows} count=${list.count} of=${list} at=${(/** @type {number} */ i) => rowAt(list, i).row} shape=${shape}
                  columns=${columnsFor(narrow, explore.cols.value, explore.fields.value.value)}
                  columnTools=${{ widths: explore.widths.value, onMove: explore.moveColumn, onWidth: explore.widen }}
                marks=${explore.marks.value} zone=${zone} density=${prefs.density.value} narrow=${narrow}
                label=${`${formatCount(explore.total.value ?? list.count)} rows, ${state.order} first`} selected=${state.row}
                  focus=${explore.picked.value?.end ?? selected} wrap=${state.wrap} picked=${explore.picked.value} onPick=${explore.pick}
                  unfolded=${explore.unfolded.value ? indexOf(list, explore.unfolded.value) : -1}
                onOpen=${(/** @type {import('../lib/line.js').Row} */ row) => explore.open(row.id === state.row ? null : row)}
                onSee=${explore.see} start=${explore.start.value} resetKey=${`${explore.range.value?.from}${explore.range.value?.to}${state.q}${state.order}`} />`
      }
      ${
        state.view === 'rows' &&
        html`<div class="foot"><span>${list.count > 0 && !failed && `${formatCount(list.count)}${list.next ? '' : ' (all)'} loaded`}</span>
        ${
          explore.picked.value &&
          html`<span role="status">
          ${formatCount(explore.pickedRows().length)} selected; Y copies them, D compares ${explore.pickedRows().length === 2 ? 'them' : 'the first and the last'}</span>`
        }
        <span class="grow">${answer?.read?.of > 0 && !failed && `read ${formatCount(answer.read.segments)} of ${formatCount(answer.read.of)} segments`}</span>
        <span class="wide"><kbd>J K</kbd> move</span><span class="wide"><kbd>↵</kbd> open</span><span class="wide"><kbd>?</kbd> all keys</span></div>`
      }
    </section>`
    }
    ${
      opened &&
      !(narrow && state.view === 'context') && // there it would cover the rows around the row
      html`<${Detail} row=${opened} shape=${shape} zone=${zone} marks=${explore.marks.value} columns=${explore.cols.value}
      trace=${explore.fields.value.value?.fields.find((/** @type {{role: string}} */ f) => f.role === 'trace')?.name ?? null}
      onContext=${() => explore.set({ view: state.view === 'context' ? 'rows' : 'context' })}
      onMove=${(/** @type {number} */ by) => move(explore, by)} onClose=${() => explore.open(null)} several=${explore.several.value}
      onOnly=${explore.onlyLikeOpened} onWithout=${explore.without} onColumn=${explore.toggleColumn} shareOf=${explore.shareOf} link=${frozenLink(stores)} />`
    }
    ${
      explore.differing.value &&
      html`<${RowDifferences} a=${explore.differing.value[0]} b=${explore.differing.value[1]} shape=${shape} zone=${zone}
        onClose=${() => (explore.differing.value = null)} />`
    }
    ${
      lost &&
      html`<section class="pane detail" aria-label="Row" data-ui="lost-row"><div class="head"><h2>Row</h2><span class="grow"></span>
        <button class="text" data-ui="close-row" aria-label="Close" onClick=${() => explore.open(null)}>✕</button></div>
        <${ErrorPanel} latest=${explore.opened} what="Opening the row" /></section>`
    }
  </div>`;
}

/**
 * Reads a width that was kept.
 * @param {string} kept
 * @param {number} initial
 */
function widthOf(kept, initial) {
  const width = Number(kept);
  return width >= 100 && width <= 1000 ? width : initial;
}
