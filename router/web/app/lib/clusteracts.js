// The operations on a cluster: the input of each, its effect, and the request that starts it.

/**
 * @typedef {Record<string, string>} Values
 * @typedef {{name: string, label: string, kind: 'node' | 'shard' | 'table' | 'number' | 'shards' | 'check', note?: string}} Asked
 * @typedef {object} ClusterAct
 * @property {string} id
 * @property {string} name
 * @property {string} group
 * @property {string} says what will happen
 * @property {Asked[]} asks
 * @property {(values: Values) => string} word what has to be typed; empty: a click is enough
 * @property {(values: Values) => Record<string, unknown>} request
 */

const none = () => '';
/** @type {Asked} */
const node = { name: 'node', label: 'Node', kind: 'node' };
/** @type {Asked} */
const force = { name: 'force', label: 'Also if the metadata group then survives the loss of fewer nodes', kind: 'check' };
/** @type {Asked} */
const shard = { name: 'shard', label: 'Shard', kind: 'shard' };

/** @type {ClusterAct[]} */
export const clusterActs = [
  {
    id: 'drain',
    name: 'Drain a node…',
    group: 'nodes',
    says: 'All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.',
    asks: [node, { name: 'restart', label: 'For a restart: move leaders only', kind: 'check' }],
    word: none,
    request: (v) => ({ kind: 'node-drain', node: v.node, for_restart: v.restart === 'yes' }),
  },
  {
    id: 'undrain',
    name: 'Undrain a node…',
    group: 'nodes',
    says: 'The node takes part again. A running drain ends.',
    asks: [node],
    word: none,
    request: (v) => ({ kind: 'node-undrain', node: v.node }),
  },
  {
    id: 'decommission',
    name: 'Decommission a node…',
    group: 'nodes',
    says: 'All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.',
    asks: [node, force],
    word: (v) => v.node,
    request: (v) => ({ kind: 'node-decommission', node: v.node, force: v.force === 'yes' }),
  },
  {
    id: 'remove',
    name: 'Forget a node…',
    group: 'nodes',
    says: 'The cluster forgets a stopped node without replicas. It can only return with an empty data folder.',
    asks: [node, force],
    word: (v) => v.node,
    request: (v) => ({ kind: 'node-remove', node: v.node, force: v.force === 'yes' }),
  },
  {
    id: 'shard-add',
    name: 'Add shards…',
    group: 'shards',
    says: 'New shards are created on the nodes with the least data. New tables use them; existing tables stay.',
    asks: [{ name: 'count', label: 'How many', kind: 'number' }],
    word: none,
    request: (v) => ({ kind: 'shard-add', count: Number(v.count) }),
  },
  {
    id: 'shard-move',
    name: 'Move a replica…',
    group: 'shards',
    says: 'A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.',
    asks: [shard, { name: 'from', label: 'From', kind: 'node' }, { name: 'to', label: 'To', kind: 'node' }],
    word: none,
    request: (v) => ({ kind: 'shard-move', shard: Number(v.shard), from: v.from, to: v.to }),
  },
  {
    id: 'replicas',
    name: 'Change replicas…',
    group: 'shards',
    says: 'The shard gets this number of replicas, each on a different node.',
    asks: [shard, { name: 'replicas', label: 'Replicas', kind: 'number' }],
    word: none,
    request: (v) => ({ kind: 'replica-change', shard: Number(v.shard), replicas: Number(v.replicas) }),
  },
  {
    id: 'rebuild',
    name: 'Rebuild a replica…',
    group: 'shards',
    says: 'The replica is discarded and rebuilt from the others.',
    asks: [shard, node],
    word: none,
    request: (v) => ({ kind: 'replica-rebuild', shard: Number(v.shard), node: v.node }),
  },
  {
    id: 'shard-remove',
    name: 'Remove a shard…',
    group: 'shards',
    says: 'Its tables move to other shards with their rows, two at a time; then the shard is removed.',
    asks: [shard],
    word: (v) => (v.shard ? `shard ${v.shard}` : ''),
    request: (v) => ({ kind: 'shard-remove', shard: Number(v.shard) }),
  },
  {
    id: 'table-move',
    name: 'Move a table…',
    group: 'shards',
    says: 'The other shards take the writes of the table. Existing rows stay, unless they are moved too.',
    asks: [
      { name: 'table', label: 'Table', kind: 'table' },
      { name: 'shards', label: 'To the shards', kind: 'shards', note: 'like 2, 3' },
      { name: 'rows', label: 'Move the rows too', kind: 'check' },
    ],
    word: none,
    request: (v) => ({ kind: 'table-move', table: v.table, to_shards: numbersOf(v.shards), with_rows: v.rows === 'yes' }),
  },
  {
    id: 'partition',
    name: 'Partition a table…',
    group: 'shards',
    says: 'The table is written to this number of shards.',
    asks: [
      { name: 'table', label: 'Table', kind: 'table' },
      { name: 'partitions', label: 'Shards', kind: 'number' },
      { name: 'rows', label: 'Distribute existing rows too', kind: 'check' },
    ],
    word: none,
    request: (v) => ({ kind: 'table-partition', table: v.table, partitions: Number(v.partitions), with_rows: v.rows === 'yes' }),
  },
];

/**
 * Reads a list of numbers: 2, 3.
 * @param {string} text
 */
export function numbersOf(text) {
  return text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map(Number);
}

/**
 * Says an operation in words.
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
