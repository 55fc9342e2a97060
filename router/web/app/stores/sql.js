// SQL: texts in tabs, each with the answer to the statement that ran last.

import { computed, effect, signal, untracked } from '../../vendor/core.js';
import { ApiError, isAbort } from '../lib/api.js';
import { faultAt, nearestIn, segmentsRead, withName } from '../lib/results.js';
import { tablesIn } from '../lib/sqlcomplete.js';
import { quoteText } from '../lib/sqlquote.js';
import { isQuery } from '../lib/statements.js';
import { createLatest } from './latest.js';

/** @typedef {import('../lib/api.js').SqlResult} SqlResult */
/** @typedef {ReturnType<typeof createTab>} Tab */

export const rowLimits = [100, 1000, 10000];
const mostTabs = 20;
const mostHistory = 200;
const mostKept = 10000; // characters of a statement in the history
const mostInAddress = 16000; // characters; a short link holds 64 KiB of an encoded address
let lastTab = 0;

/** @param {string} statement */
const mayHavePassword = (statement) => /\bpassword\b/i.test(statement);

/**
 * @param {string} text
 * @param {typeof import('./latest.js').clock} clock
 */
function createTab(text, clock) {
  return {
    id: ++lastTab,
    text: signal(text),
    ran: signal(''), // the statement that ran last
    latest: /** @type {import('./latest.js').Latest<SqlResult>} */ (createLatest(clock)),
    reads: /** @type {import('./latest.js').Latest<ReturnType<typeof segmentsRead>>} */ (createLatest(clock)), // what it reads, by EXPLAIN
    plan: /** @type {import('./latest.js').Latest<SqlResult>} */ (createLatest(clock)),
  };
}

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {import('./place.js').PlaceStore} with_.place
 * @param {Pick<Storage, 'getItem' | 'setItem'>} with_.storage
 * @param {typeof import('./latest.js').clock} with_.clock
 * @param {{value: import('./prefs.js').Run[]}} with_.history the statements that ran, the newest first
 */
export function createSql({ api, place, storage, clock, history }) {
  const tabs = signal(recall().map((text) => createTab(text, clock)));
  const at = signal(0);
  const tab = computed(() => tabs.value[at.value] ?? tabs.value[0]);
  const most = signal(rowLimits[1]);
  const columns = /** @type {import('./latest.js').Latest<{name: string, type: string, table: string}[]>} */ (createLatest(clock));
  let described = ''; // the tables whose columns are known

  const db = () => place.here.value.params.get('db') ?? 'public';
  effect(() => storage.setItem('cordwood.sql', JSON.stringify(tabs.value.map((t) => t.text.value))));

  /** The texts that were here before a reload. */
  function recall() {
    try {
      const kept = JSON.parse(storage.getItem('cordwood.sql') ?? '[]');
      if (Array.isArray(kept) && kept.length > 0) return kept.map(String).slice(0, mostTabs);
    } catch {
      // the stored text is not a list
    }
    return ['SHOW TABLES'];
  }

  /** @param {string} text */
  function addTab(text) {
    if (tabs.value.length >= mostTabs) return;
    tabs.value = [...tabs.value, createTab(text, clock)];
    at.value = tabs.value.length - 1;
  }

  /**
   * Keeps a statement that runs, unless it may have a password or is very long.
   * @param {string} statement
   * @returns {(how?: {failed?: boolean, cancelled?: boolean}) => void} called when it has run
   */
  function remember(statement) {
    if (statement.length > mostKept || mayHavePassword(statement)) return () => {};
    const at = clock.now();
    history.value = [{ text: statement, at }, ...history.value.filter(({ text }) => text !== statement)].slice(0, mostHistory);
    return ({ failed = false, cancelled = false } = {}) => {
      const ms = clock.now() - at;
      history.value = history.value.map((run) => (run.text === statement && run.at === at ? { ...run, ms, failed, cancelled } : run));
    };
  }

  /** Shows a text: the tab that has it, else a new one. @param {string} text */
  function open(text) {
    if (text === tab.value.text.value) return;
    const known = tabs.value.findIndex((t) => t.text.value === text);
    if (known >= 0) at.value = known;
    else if (tabs.value.length === 1 && tab.value.ran.value === '' && tab.value.text.value === 'SHOW TABLES') tab.value.text.value = text;
    else addTab(text);
  }

  // The text of the address is open before the page is drawn: a key pressed at once runs this text, not the one before.
  const linked = computed(() => (place.page.value === 'sql' && place.here.value.params.get('q')) || '');
  effect(() => {
    const text = linked.value;
    if (text) untracked(() => open(text));
  });

  return {
    tabs,
    at,
    history,
    open,
    tab,
    most,
    columns,
    db,
    addTab,
    /** Forgets a statement that ran; without it, all. @param {string} [text] */
    forget: (text) => (history.value = text === undefined ? [] : history.value.filter((run) => run.text !== text)),
    /** @param {Tab} closed */
    closeTab(closed) {
      closed.latest.cancel();
      closed.plan.cancel();
      closed.reads.cancel();
      const left = tabs.value.filter((t) => t !== closed);
      tabs.value = left.length > 0 ? left : [createTab('', clock)];
      at.value = Math.min(at.value, tabs.value.length - 1);
    },
    /** @param {string} changed */
    write(changed) {
      tab.value.text.value = changed;
    },
    /** Where the text of a tab is wrong, by the error of the statement that ran; null: nowhere. @param {Tab} of */
    faultOf({ text, ran, latest }) {
      const begin = text.value.indexOf(ran.value);
      const error = latest.error.value;
      const place = error && begin >= 0 ? faultAt(ran.value, error.message) : null;
      return place === null ? null : begin + Math.min(place, Math.max(0, ran.value.length - 1));
    },
    /** Writes another name for the wrong one of the statement that ran, and returns this statement. @param {Tab} of @param {string} name */
    correct({ text, ran, latest }, name) {
      const mended = withName(ran.value, latest.error.value?.message ?? '', name);
      text.value = text.value.replace(ran.value, () => mended);
      return mended;
    },
    /** Asks for the columns of the tables that a statement names. @param {string} statement */
    describe(statement) {
      const named = tablesIn(statement, db());
      const key = JSON.stringify(named);
      if (key === described || named.length === 0) return;
      described = key;
      const either = named.map((t) => `table_schema = ${quoteText(t.db)} AND table_name = ${quoteText(t.name)}`).join(' OR ');
      const asks = `SELECT column_name, data_type, table_name FROM information_schema.columns WHERE ${either} ORDER BY table_name, ordinal_position`;
      void columns
        .run(async (signal) =>
          (await api.sql(asks, { signal, limit: 5000 })).rows.map(([n, type, t]) => ({ name: String(n), type: String(type), table: String(t) })),
        )
        .then(() => {
          if (columns.error.value) described = ''; // asked again with the next key
        });
    },
    /** Shows the answer as a table, a plot or a plan. @param {string} view */
    show(view) {
      const { params } = place.here.value;
      place.set('sql', { db: params.get('db') ?? '', q: params.get('q') ?? '', tab: view }, { db: 'public', tab: 'table' }, { replace: true });
    },
    /** Runs a statement again, for its plan. @param {string} statement */
    explain: (statement) => tab.value.plan.run((signal) => api.sql(`EXPLAIN ANALYZE ${statement}`, { signal, db: db() })),
    /** @param {string} statement */
    run(statement) {
      const { text, ran, latest, reads } = tab.value;
      reads.cancel();
      reads.value.value = null;
      if (statement !== ran.value) latest.value.value = latest.error.value = null; // they belong to another statement
      ran.value = statement;
      const ended = remember(statement);
      const view = place.here.value.params.get('tab') ?? '';
      if (text.value.length < mostInAddress && !mayHavePassword(text.value)) place.set('sql', { db: db(), q: text.value, tab: view }, { db: 'public' });
      return latest.run(async (signal) => {
        try {
          const answer = await api.sql(statement, { signal, db: db(), limit: most.value });
          ended();
          if (isQuery(statement)) void reads.run(async (signal) => segmentsRead((await api.sql(`EXPLAIN ${statement}`, { signal, db: db() })).rows));
          return answer;
        } catch (error) {
          ended(isAbort(error) ? { cancelled: true } : { failed: true });
          if (error instanceof ApiError) error.nearest = nearestIn(error.message);
          throw error;
        }
      });
    },
  };
}
