// The state of a cluster and its operations in words.

import { formatBytes, formatDuration, sentence } from './format.js';
import { formatTime } from './time.js';

/**
 * Says how many further nodes may fail.
 * @param {{health: string, failure_tolerance: number, limited_by: string}} state
 */
export function toleranceWords({ health, failure_tolerance: tolerance, limited_by: limit }) {
  if (tolerance < 0) return limit ? `Too much has failed: ${limit} does not work.` : 'Something does not work.';
  if (health === 'starting') return 'The first shards are being created.';
  if (tolerance === 0) return `If one ${health === 'ok' ? '' : 'more '}node fails, ${limit} stops.`;
  return `Any ${tolerance === 1 ? 'one node' : `${tolerance} nodes`} can fail: nothing stops, and no row is lost.`;
}

/**
 * The advice about a problem. Where there is nothing to do, the server says: nothing, and what happens by itself.
 * @param {string} advice
 */
export function adviceWords(advice) {
  return sentence(advice.replace(/^nothing(?=[:,])/, 'nothing needs to be done'));
}

/**
 * @typedef {object} Operation
 * @property {string} [kind]
 * @property {string} state
 * @property {string} step
 * @property {string} reason
 * @property {string} requested_by
 * @property {number} done_bytes
 * @property {number} total_bytes
 * @property {number} [eta_seconds]
 * @property {string} created
 * @property {string} updated
 * @property {string} [ended]
 */

/**
 * Says how far an operation is, or how it ended.
 * @param {Operation} o
 * @param {number} now
 * @param {string} zone
 */
export function operationProgress(o, now, zone) {
  const by = o.requested_by && `requested by ${o.requested_by === 'cluster' ? 'the cluster' : o.requested_by}`;
  if (o.state !== 'running') {
    const ended = o.ended ?? o.updated;
    const took = Date.parse(ended) - Date.parse(o.created);
    return [
      `${o.state} ${whenText(ended, now, zone)}`,
      took >= 1000 && `took ${formatDuration(took)}`,
      o.state === 'done' && o.kind === 'shard-move' ? '' : o.reason,
      by,
    ]
      .filter(Boolean)
      .join(' · ');
  }
  const copied = o.total_bytes > 0 && `${formatBytes(o.done_bytes)} of ${formatBytes(o.total_bytes)}`;
  return [`step ${o.step}`, copied, o.eta_seconds && `${formatDuration(o.eta_seconds * 1000)} left`, o.reason, by].filter(Boolean).join(' · ');
}

/** @param {string} time @param {number} now @param {string} zone */
function whenText(time, now, zone) {
  const ago = Math.max(0, now - Date.parse(time));
  if (ago < 1000) return 'just now';
  return ago < 86400e3 ? `${formatDuration(ago)} ago` : `at ${formatTime(time, zone)} (${zone})`;
}

const changing = ['starting', 'stopping', 'draining', 'drained', 'moving', 'catching up', 'retiring', 'electing'];

/**
 * How a state of a node or a shard looks: well, changing as it should, or bad.
 * @param {string} state
 */
export function lookOf(state) {
  if (state === 'up' || state === 'ok') return 'ok';
  return changing.includes(state) ? 'changes' : 'bad';
}

/**
 * Names an operation.
 * @param {{kind: string, subject: string, shard?: number, table?: string, node?: string, from?: string, to?: string, to_shards?: number[], replicas?: number}} o
 */
export function operationWords(o) {
  const to = o.to_shards?.length ? ` to shards ${o.to_shards.join(', ')}` : '';
  switch (o.kind) {
    case 'shard-move':
      return `Move shard ${o.shard}${o.from ? ` from ${o.from}` : ''}${o.to ? ` to ${o.to}` : ''}`;
    case 'replica-change':
      return `Give shard ${o.shard} ${o.replicas} replicas`;
    case 'replica-rebuild':
      return `Rebuild the replica of shard ${o.shard}${o.node ? ` on ${o.node}` : ''}`;
    case 'table-move':
      return `Move table ${o.table}${to}`;
    case 'table-partition':
      return `Partition table ${o.table}${to}`;
    case 'shard-add':
      return 'Add shards';
    case 'shard-remove':
      return `Remove shard ${o.shard}`;
    case 'rebalance':
      return 'Rebalance';
    case 'node-drain':
    case 'node-undrain':
    case 'node-decommission':
    case 'node-remove':
      return `${{ 'node-drain': 'Drain', 'node-undrain': 'Undrain', 'node-decommission': 'Decommission', 'node-remove': 'Forget' }[o.kind]} ${o.subject.replace(/^node /, '')}`;
    default:
      return `${o.kind.replaceAll('-', ' ')} ${o.subject}`.replace(/^./, (c) => c.toUpperCase());
  }
}

/**
 * Shortens names that begin with the same parts, so that many of them fit side by side: logs-eu-0 and logs-eu-1 become …0 and …1.
 * @param {string[]} names
 */
export function shortNames(names) {
  if (names.length < 2) return names;
  const [first, ...others] = names;
  let same = 0;
  while (same < first.length && others.every((name) => name[same] === first[same])) same++;
  const from = Math.max(first.lastIndexOf('-', same - 1), first.lastIndexOf('.', same - 1)) + 1;
  return from < 4 ? names : names.map((name) => `…${name.slice(from)}`);
}
