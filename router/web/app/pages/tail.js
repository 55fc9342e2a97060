// Live tail: new rows at the bottom; scrolling up, selecting text, or space holds the list.

import { html, useEffect, useState } from '../../vendor/core.js';
import { Detail } from '../components/detail.js';
import { useIgnored } from '../components/ignored.js';
import { columnsFor, useNarrow } from '../components/narrow.js';
import { TablePicker } from '../components/pickers.js';
import { Rows } from '../components/rows.js';
import { SearchBox } from '../components/search.js';
import { Empty, ErrorPanel } from '../components/states.js';
import { toggleClause, toggleExclusion } from '../lib/edit.js';
import { formatCount } from '../lib/format.js';
import { partsOfTime } from '../lib/time.js';
import { formatPlace } from '../lib/url.js';
import { ringSizes } from '../stores/tail.js';

/** @typedef {import('../lib/line.js').Row} Row */

/** @param {{stores: import('../main.js').Stores}} props */
export function TailPage({ stores }) {
  const { tail, prefs, tables } = stores;
  const state = tail.state.value;
  const narrow = useNarrow();
  const [opened, setOpened] = useState(/** @type {Row | null} */ (null));
  useEffect(() => {
    tail.clear();
    setOpened(null);
    if (state.table) prefs.table.value = state.table;
    void tail.follow();
    document.title = `tail ${state.table} · cordwood`;
  }, [state.db, state.table, state.q]);
  useVisibility(tail);
  useIgnored(tail.ignored.value);
  useEffect(
    () =>
      stores.keys.bind({
        ' ': ['hold or follow', () => (tail.held.value ? tail.release() : tail.hold())],
        m: ['draw a line here', () => tail.mark()],
        End: ['follow', () => tail.release()],
        w: ['wrap lines', () => toggleWrap(tail)],
        '/': ['search', () => document.getElementById('search')?.focus()],
        Escape: ['close the row', () => setOpened(null)],
      }),
    [stores],
  );

  /** Opens a row; values that the list has cut come whole. @param {Row} row */
  async function show(row) {
    setOpened(row);
    if (!row.cut) return;
    const whole = await tail.wholeRow(row).catch(() => null); // what the list has stays
    if (whole) setOpened((now) => (now?.id === row.id ? whole : now));
  }

  function run() {
    if (tail.draft.value === state.q && tail.stopped()) void tail.follow();
    else tail.set({ q: tail.draft.value });
  }

  const { count, dropped, still } = tail.drawn.value;
  const held = tail.held.value;
  const zone = prefs.zone.value;
  return html`<h1 class="hidden">Live tail</h1>
    <form
      class="ask"
      role="search"
      onSubmit=${(/** @type {Event} */ e) => {
        e.preventDefault();
        run();
      }}
    >
      <${TablePicker}
        db=${state.db}
        tables=${state.table ? [state.table] : []}
        all=${tables.all.value}
        single
        onPick=${(/** @type {string} */ db, /** @type {string[]} */ t) => tail.set({ db, t: t[t.length - 1] })}
      />
      <${SearchBox}
        text=${tail.draft.value}
        onText=${(/** @type {string} */ text) => (tail.draft.value = text)}
        onRun=${run}
        fault=${tail.draft.value === state.q ? tail.fault.value : null}
        fields=${tail.fields.value.value?.fields ?? []}
        valuesOf=${stores.explore.valuesFor}
        history=${prefs.history.value}
      />
      <button class="button main" data-ui="run">Follow</button>
    </form>
    <div class="tailbar">
      <span class="live" data-ui="tail-state"
        ><span class=${`dot ${tail.live.value && !held ? '' : 'bad'}`}></span>${
          held ? `Held at ${partsOfTime(held.at, zone).time}` : tail.live.value ? `Live · ${formatCount(tail.rate.value)} rows/s` : 'Not connected'
        }</span
      >
      <button
        class="text"
        aria-pressed=${held !== null}
        onClick=${() => (held ? tail.release() : tail.hold())}
      >
        ${held ? 'Follow' : 'Hold'} <kbd>space</kbd>
      </button>
      <button class="text" data-ui="mark" onClick=${tail.mark}>
        Mark <kbd>M</kbd>
      </button>
      <button class="text" onClick=${tail.clear}>Clear</button>
      <button
        class="text"
        aria-pressed=${state.wrap}
        data-ui="wrap"
        onClick=${() => toggleWrap(tail)}
      >
        Wrap <kbd>W</kbd>
      </button>
      <label class="text"
        >Keep
        <select
          aria-label="Rows that are kept"
          value=${tail.most.value}
          onChange=${(/** @type {Event} */ e) => (tail.most.value = Number(/** @type {HTMLSelectElement} */ (e.currentTarget).value))}
        >
          ${ringSizes.map((n) => html`<option value=${n}>${formatCount(n)}</option>`)}
        </select></label
      >
      <span class="grow"></span>
      ${held && html`<button class="button" data-ui="tail-new" onClick=${tail.release}>↓ ${formatCount(tail.fresh())} new rows</button>`}
      ${dropped > 0 && html`<span class="quiet" data-ui="tail-dropped">${formatCount(dropped)} older rows are in the table only</span>`}
      ${still && html`<span class="quiet" data-ui="tail-still">more new rows came than are kept: the oldest of them are in the table only</span>`}
      <a class="text" data-ui="explore-this" href=${inExplore(tail)}
        >Explore this</a
      >
    </div>
    ${tail.ended.value && !(tail.trying.value && stores.health.error.value?.status === 0) && html`<${Ended} tail=${tail} />`}
    ${!tail.isMissing() && html`<${ErrorPanel} latest=${{ ...tail.fields, again: () => void tail.follow() }} what="Following the table" />`}
    <div class=${`panes tail ${opened ? '' : 'no-detail'}`}>
      <section class="pane list" aria-label="Rows" onMouseDown=${(/** @type {MouseEvent} */ e) => {
        // The row must not move away from the pointer before the button is released.
        if (/** @type {Element} */ (e.target).closest('[data-ui=row]')) tail.hold();
      }}>
        ${
          count === 0
            ? html`<${Empty}
                title=${titleOf(tail)}
              >
                ${tail.isMissing() && html`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
                ${tail.live.value && html`<p class="acts"><button class="button" onClick=${() => tail.follow('10m')}>Show the last ten minutes</button></p>`}<//
              >`
            : html`<${Rows}
                count=${count}
                of=${tail.drawn.value}
                at=${tail.at}
                shape=${tail.shape.value}
                columns=${columnsFor(narrow, tail.columns.value, tail.fields.value.value)}
                marks=${tail.marks.value}
                zone=${zone}
                density=${prefs.density.value}
                narrow=${narrow}
                label=${`${count} rows, newest last`}
                selected=${opened?.id ?? ''}
                dropped=${dropped}
                follow=${!held}
                wrap=${state.wrap}
                onEnd=${(/** @type {boolean} */ atEnd) => !atEnd && tail.hold()}
                onOpen=${(/** @type {Row} */ row) => {
                  tail.hold();
                  if (row.id === opened?.id) setOpened(null);
                  else void show(row);
                }}
              />`
        }
      </section>
      ${
        opened &&
        html`<${Detail}
          row=${opened}
          shape=${tail.shape.value}
          zone=${zone}
          marks=${tail.marks.value}
          columns=${tail.columns.value}
          trace=${null}
          onOnly=${(/** @type {string} */ clause) => tail.set({ q: toggleClause(state.q, clause) })}
          onWithout=${(/** @type {string} */ clause) => tail.set({ q: toggleExclusion(state.q, clause) })}
          onClose=${() => setOpened(null)}
        />`
      }
    </div>`;
}

/** Why the tail has ended, and what can be done. @param {{tail: import('../main.js').Stores['tail']}} props */
function Ended({ tail }) {
  const [fault, nearest] = [tail.fault.value, tail.nearest.value];
  return html`<div class="banner" role="alert" data-ui="banner">${tail.ended.value}
    ${nearest.map((name) => html` <button class="text go" data-ui="nearest" onClick=${() => tail.set({ q: tail.replaceFault(name) })}>${name}</button>`)}
    ${!fault && html` <button class="text go" data-ui="retry" onClick=${() => tail.follow()}>${tail.trying.value ? 'Try now' : 'Follow again'}</button>`}</div>`;
}

/** Says why there are no rows. @param {import('../main.js').Stores['tail']} tail */
function titleOf(tail) {
  const { table } = tail.state.value;
  if (!table) return 'Choose a table to follow.';
  if (tail.isMissing()) return `There is no table ${table} yet.`;
  return tail.stopped() ? `${table} is not followed.` : `Waiting for new rows in ${table}.`;
}

/** @param {import('../main.js').Stores['tail']} tail */
function toggleWrap(tail) {
  tail.set({ wrap: tail.state.value.wrap ? '' : '1' }, { replace: true });
}

/** The same search in Explore, from the first row that is here. @param {import('../main.js').Stores['tail']} tail */
function inExplore(tail) {
  const { db, table, q } = tail.state.value;
  return formatPlace('explore', { db, t: table, q, ...tail.roles.value, from: tail.at(0)?.time ?? '' }, { db: 'public' });
}

/**
 * Ends the tail of a tab that is hidden for half a minute, and asks for what it missed when it is seen again: browsers
 * open few connections to a server, for all tabs together.
 * @param {import('../main.js').Stores['tail']} tail
 */
function useVisibility(tail) {
  useEffect(() => {
    let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);
    let left = 0;
    const changed = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'hidden') {
        timer = setTimeout(() => {
          left = Date.now();
          tail.stop();
        }, 30000);
      } else if (left) {
        const since = `${Math.ceil((Date.now() - left) / 1000) + 30}s`;
        left = 0;
        void tail.follow(since);
      }
    };
    const selected = () => {
      const selection = getSelection();
      if (selection && !selection.isCollapsed && selection.anchorNode?.parentElement?.closest('.row')) tail.hold();
    };
    document.addEventListener('visibilitychange', changed);
    document.addEventListener('selectionchange', selected);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', changed);
      document.removeEventListener('selectionchange', selected);
      tail.stop();
    };
  }, [tail]);
}
