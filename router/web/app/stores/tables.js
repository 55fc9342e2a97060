// All tables.

import { computed } from '../../vendor/core.js';
import { createLatest } from './latest.js';

// sized: whether rows and bytes are known; those of a table that this user may not read are not. bytes are on local disks,
// bucket those in object storage, and waiting those on local disks that are not there yet.
/** @typedef {{db: string, name: string, shards: number[], rows: number, bytes: number, bucket: number, waiting: number, sized: boolean, ttl: string, options: string, created: string}} TableInfo */

const statement =
  'SELECT table_schema, table_name, shard_id, rows, bytes, ttl, options, create_time, bucket_bytes, waiting_bytes FROM information_schema.tables ' +
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
  for (const [db, name, shard, count, bytes, ttl, options, created, bucket, waiting] of rows) {
    const key = JSON.stringify([db, name]);
    const known = byName.get(key);
    if (known) {
      known.shards.push(Number(shard));
      known.rows += Number(count ?? 0);
      known.bytes += Number(bytes ?? 0);
      known.bucket += Number(bucket ?? 0);
      known.waiting += Number(waiting ?? 0);
      continue;
    }
    byName.set(key, {
      db: String(db),
      name: String(name),
      shards: shard === null ? [] : [Number(shard)],
      rows: Number(count ?? 0),
      bytes: Number(bytes ?? 0),
      bucket: Number(bucket ?? 0),
      waiting: Number(waiting ?? 0),
      sized: count !== null,
      ttl: String(ttl ?? ''),
      options: String(options ?? ''),
      created: created === null ? '' : new Date(Number(created) / 1e6).toISOString(),
    });
  }
  return [...byName.values()];
}

/**
 * The mean size of a stored row. Rows that are in object storage need not be on local disks.
 * @param {{rows: number, bytes: number, bucket: number, waiting: number}} t
 */
export function bytesOfRow(t) {
  return (t.bucket > 0 ? t.bucket + t.waiting : t.bytes) / t.rows;
}
