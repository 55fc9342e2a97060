// The operations that a user can start: the input of each, its effect, and the request that starts it.

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
 * @typedef {{kind: string, node?: string, shard?: number, operation?: number}} Action what the advice about a problem names
 * @typedef {{name: string, act: string, given: Record<string, string>}} Offer act: the dialog to open, with values that are chosen already
 */

/** @type {Record<string, (action: Action) => Offer>} */
const offers = {
  'node-add': () => ({ name: 'Add a node…', act: 'add-node', given: {} }),
  'node-undrain': ({ node = '' }) => ({ name: `Undrain ${node}…`, act: 'undrain', given: { node } }),
  'node-decommission': ({ node = '' }) => ({ name: `Decommission ${node}…`, act: 'decommission', given: { node } }),
  'node-remove': ({ node = '' }) => ({ name: `Forget ${node}…`, act: 'remove', given: { node } }),
  'shard-move': ({ node = '', shard }) => ({ name: 'Move a replica…', act: 'shard-move', given: { from: node, shard: shard ? String(shard) : '' } }),
  'replica-rebuild': ({ node = '', shard }) => ({ name: 'Rebuild the replica…', act: 'rebuild', given: { node, shard: String(shard ?? '') } }),
  rebalance: () => ({ name: 'Rebalance…', act: 'rebalance', given: {} }),
  'rebalance-resume': () => ({ name: 'Resume rebalancing…', act: 'rebalance', given: {} }),
  cancel: ({ operation }) => ({ name: `Cancel operation ${operation}`, act: 'cancel', given: { operation: String(operation ?? '') } }),
};

/**
 * The buttons beside a problem. Actions that this page does not know are left out.
 * @param {{actions?: Action[]}} problem
 * @returns {Offer[]}
 */
export function offersOf({ actions = [] }) {
  return actions.flatMap((action) => offers[action.kind]?.(action) ?? []);
}

/**
 * The problems with their buttons. A button stands beside the first problem that it mends, and not beside each.
 * @param {{actions?: Action[]}[]} problems
 */
export function offersOnce(problems) {
  /** @type {Set<string>} */
  const seen = new Set();
  const isNew = (/** @type {Offer} */ offer) => {
    const key = JSON.stringify([offer.act, offer.given]);
    return !seen.has(key) && seen.add(key);
  };
  return problems.map((problem) => ({ problem, offers: offersOf(problem).filter(isNew) }));
}
