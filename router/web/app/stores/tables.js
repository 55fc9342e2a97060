// All tables.

import { computed } from '../../vendor/core.js';
import { createLatest } from './latest.js';

// sized: whether rows and bytes are known; those of a table that this user may not read are not.
/** @typedef {{db: string, name: string, shards: number[], rows: number, bytes: number, sized: boolean, ttl: string, options: string, created: string}} TableInfo */

const statement =
  'SELECT table_schema, table_name, shard_id, rows, bytes, ttl, options, create_time FROM information_schema.tables ' +
  "WHERE table_type <> 'SYSTEM VIEW' ORDER BY table_schema, table_name";

/**
 * @param {import('../lib/api.js').Api} api
 * @param {typeof import('./latest.js').clock} clock
 */
export function createTables(api, clock) {
  const latest = /** @type {import('./latest.js').Latest<TableInfo[]>} */ (createLatest(clock));
  return {
    latest,
    all: computed(() => latest.value.value ?? []),
    load: () => latest.run(async (signal) => joinShards((await api.sql(statement, { signal })).rows)),
  };
}

/**
 * Makes one entry of the parts that a table has in several shards.
 * @param {unknown[][]} rows
 */
export function joinShards(rows) {
  /** @type {Map<string, TableInfo>} */
  const byName = new Map();
  for (const [db, name, shard, count, bytes, ttl, options, created] of rows) {
    const key = JSON.stringify([db, name]);
    const known = byName.get(key);
    if (known) {
      known.shards.push(Number(shard));
      known.rows += Number(count ?? 0);
      known.bytes += Number(bytes ?? 0);
      continue;
    }
    byName.set(key, {
      db: String(db),
      name: String(name),
      shards: shard === null ? [] : [Number(shard)],
      rows: Number(count ?? 0),
      bytes: Number(bytes ?? 0),
      sized: count !== null,
      ttl: String(ttl ?? ''),
      options: String(options ?? ''),
      created: created === null ? '' : new Date(Number(created) / 1e6).toISOString(),
    });
  }
  return [...byName.values()];
}
