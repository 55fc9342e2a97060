// The tables that there are, and where the newest of them is.

import { computed } from '../../vendor/core.js';
import { createLatest } from './latest.js';

/** @typedef {{db: string, name: string, rows: number, bytes: number, ttl: string, created: string}} TableInfo */

const statement =
  'SELECT table_schema, table_name, rows, bytes, ttl, create_time FROM information_schema.tables ' +
  "WHERE table_type <> 'SYSTEM VIEW' ORDER BY table_schema, table_name";

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createTables(api, clock) {
  const latest = createLatest(clock);
  return {
    latest,
    all: computed(() => /** @type {TableInfo[]} */ (latest.value.value ?? [])),
    load: () =>
      latest.run(async (signal) => {
        const { rows } = await api.sql(statement, { signal });
        return rows.map(([db, name, count, bytes, ttl, created]) => ({
          db: String(db),
          name: String(name),
          rows: Number(count ?? 0),
          bytes: Number(bytes ?? 0),
          ttl: String(ttl ?? ''),
          created: created === null ? '' : String(created),
        }));
      }),
  };
}
