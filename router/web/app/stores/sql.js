// SQL: one text, and the answer to the statement that ran last.

import { signal } from '../../vendor/core.js';
import { tablesIn } from '../lib/sqlcomplete.js';
import { quoteText } from '../lib/sqlwords.js';
import { createLatest } from './latest.js';

const most = 1000;

/**
 * @param {object} with_
 * @param {import('../lib/api.js').Api} with_.api
 * @param {import('./place.js').PlaceStore} with_.place
 * @param {Pick<Storage, 'getItem' | 'setItem'>} with_.storage
 * @param {typeof import('./latest.js').clock} with_.clock
 */
export function createSql({ api, place, storage, clock }) {
  const text = signal('');
  const latest = createLatest(clock);
  const plan = /** @type {import('./latest.js').Latest<import('../lib/api.js').SqlResult>} */ (createLatest(clock));
  const ran = signal('');
  const columns = /** @type {import('./latest.js').Latest<{name: string, type: string, table: string}[]>} */ (createLatest(clock));
  let described = ''; // the tables whose columns are known

  return {
    text,
    latest,
    plan,
    ran,
    most,
    columns,
    db: () => place.here.value.params.get('db') ?? 'public',
    /** Takes the text of the address, else the one that was here before a reload. */
    open() {
      text.value = place.here.value.params.get('q') || text.value || storage.getItem('cordwood.sql') || 'SHOW TABLES';
    },
    /** @param {string} changed */
    write(changed) {
      text.value = changed;
      storage.setItem('cordwood.sql', changed);
    },
    /** Asks for the columns of the tables that a statement names. @param {string} statement */
    describe(statement) {
      const named = tablesIn(statement, place.here.value.params.get('db') ?? 'public');
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
    /** Shows the answer as a table, a plot or a plan. @param {string} tab */
    show(tab) {
      const { params } = place.here.value;
      place.set('sql', { db: params.get('db') ?? '', q: params.get('q') ?? '', tab }, { db: 'public', tab: 'table' }, { replace: true });
    },
    /** Runs the statement again, for its plan. */
    explain: () => plan.run((signal) => api.sql(`EXPLAIN ANALYZE ${ran.value}`, { signal, db: place.here.value.params.get('db') ?? 'public' })),
    /** @param {string} statement */
    run(statement) {
      ran.value = statement;
      const db = place.here.value.params.get('db') ?? 'public';
      const tab = place.here.value.params.get('tab') ?? '';
      if (text.value.length < 6000) place.set('sql', { db, q: text.value, tab }, { db: 'public' });
      return latest.run((signal) => api.sql(statement, { signal, db, limit: most }));
    },
  };
}
