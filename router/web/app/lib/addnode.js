// The command that starts another node of this cluster. What one node checks, the new one must check too: it serves the
// same rows.

import { shellWord } from './format.js';

/**
 * The settings that a new node needs as this one has them, with their defaults: who the users are, what they may do, and
 * where the old rows are. Values that are files must exist on the new machine.
 * @type {Record<string, unknown>}
 */
const shared = {
  'access-max-age': '1h0m0s',
  'user-file': '',
  'user-provider': '',
  'oidc-issuer': '',
  'oidc-client-id': '',
  'oidc-client-secret-file': '',
  'oidc-audience': '',
  'oidc-redirect-url': '',
  'oidc-groups-claim': 'groups',
  'oidc-user-claim': 'sub',
  'oidc-max-age': '1h0m0s',
  'tls-cert': '',
  'tls-key': '',
  'tls-client-ca': '',
  'tls-client-user': 'off',
  'metrics-open': true,
  'proxy-protocol': false,
  'trusted-proxies': '',
  'auto-create-table': true,
  'client-variables': true,
  'object-storage-url': '',
  'object-storage-endpoint': '',
  'object-storage-region': '',
  'object-storage-path-style': false,
  'object-storage-ca-file': '',
  'object-storage-sse': 'none',
};

/** The file with the secret of the cluster, on the new machine. */
export const secretFile = 'cluster-secret';
const certificates = ['rpc-tls-ca', 'rpc-tls-cert', 'rpc-tls-key', 'rpc-tls-server-name'];
const files = /-(?:file|cert|key|ca)$/;

/**
 * Reads the settings that a server shows: `name = value` in lines, the groups below [group].
 * @param {string} config
 */
export function settingsOf(config) {
  /** @type {Record<string, unknown>} */
  const found = {};
  let group = '';
  for (const line of config.split('\n')) {
    group = /^\[([\w-]+)\]/.exec(line)?.[1] ?? group;
    const [, name, text] = /^\s*([\w-]+) = (.+)$/.exec(line) ?? [];
    if (!name) continue;
    try {
      const value = JSON.parse(text);
      found[group ? `${group}-${name}` : name] = Array.isArray(value) ? value.join(',') : value;
    } catch {
      found[group ? `${group}-${name}` : name] = text.replace(/^'(.*)'$/, '$1'); // a text with quotes in it
    }
  }
  return found;
}

/**
 * @typedef {object} AddNode
 * @property {string} command
 * @property {string[]} files that the command names, and that the new machine needs
 * @property {string} local the addresses of nodes that other machines cannot reach; empty: they can reach all
 */

/**
 * @param {object} of
 * @param {{rpc_addr: string, state: string}[]} of.nodes
 * @param {boolean} of.auth whether the nodes check users
 * @param {string} of.config the settings of this node; empty: they are not known
 * @returns {AddNode}
 */
export function addNode({ nodes, auth, config }) {
  const known = settingsOf(config);
  const addresses = nodes.map((n) => n.rpc_addr);
  const reachable = addresses.filter((address) => !isLoopback(address));
  const seeds = (reachable.length > 0 ? reachable : addresses).join(',');
  const flags = Object.entries(shared)
    .filter(([name, usual]) => known[name] !== undefined && known[name] !== usual)
    .map(([name]) => flagOf(name, known[name]));
  const trust = known['rpc-tls-cert']
    ? certificates.filter((name) => known[name]).map((name) => flagOf(name, known[name]))
    : [`--cluster-secret-file ${secretFile}`];
  const lines = [
    'cordwood serve --node-name NAME --data-dir /var/lib/cordwood',
    '--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001',
    '--http-addr 0.0.0.0:4000',
    ...(auth ? ['--auth=on'] : []),
    ...flags,
    trust.join(' '),
    `--seeds ${seeds}`,
  ];
  const named = [...Object.keys(shared), ...certificates].filter((name) => files.test(name) && known[name]);
  return {
    command: lines.join(' \\\n  '),
    files: [...(known['rpc-tls-cert'] ? [] : [secretFile]), ...named.map((name) => String(known[name]))],
    local: reachable.length > 0 ? '' : addresses.join(', '),
  };
}

/** @param {string} name @param {unknown} value */
function flagOf(name, value) {
  return typeof value === 'boolean' ? `--${name}=${value}` : `--${name} ${shellWord(String(value))}`;
}

/** Reports whether only the machine itself reaches an address. @param {string} address */
function isLoopback(address) {
  return /^(?:127\.|localhost:|\[::1\])/.test(address);
}
