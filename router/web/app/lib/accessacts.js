// The statements by which the page manages users, roles, grants and tokens.

import { shellQuoted } from './format.js';
import { quoteName, quoteText } from './sqlquote.js';

/** @typedef {Record<string, string>} Values */

/**
 * @typedef {object} AccessAction
 * @property {string} name
 * @property {string} says what happens
 * @property {[string, string, string][]} asks name, label and kind of each value; an optional value has a kind that ends with ?
 * @property {(target: string, values: Values) => string} statement target is the user, role or token, or the grant to revoke
 * @property {boolean} [typed] the target's name has to be typed
 */

/** @param {string} of @param {string[]} names @returns {[string, string][]} */
const privilegesOf = (of, names) => names.map((name) => [name, `${name}, ${of}`]);

/** The privileges, each with what it can be granted on. */
export const privileges = [
  ...privilegesOf('on tables', ['SELECT', 'INSERT, CREATE', 'ALTER', 'DROP', 'DELETE']),
  ...privilegesOf('on pipelines', ['USE', 'READ', 'WRITE']),
  ...privilegesOf('on the cluster', ['MONITOR', 'OPERATE', 'BACKUP', 'RESTORE', 'ACCESS', 'AUDIT']),
  ...privilegesOf('on any of these', ['ALL']),
];

/** @type {[string, string][]} What a token may be for. */
export const scopes = [
  ['ingest', 'send rows'],
  ['query', 'read rows'],
];

export const lifetimes = ['30d', '90d', '365d', 'NEVER'];

/** @type {Record<string, AccessAction>} */
export const accessActions = {
  createUser: {
    name: 'New user…',
    says: 'A new user can sign in, and has no rights. The password has at least 12 bytes.',
    asks: [
      ['name', 'Name', 'text'],
      ['password', 'Password', 'password'],
    ],
    statement: (_, { name, password }) => `CREATE USER ${quoteName(name)} PASSWORD ${quoteText(password)}`,
  },
  password: {
    name: 'New password…',
    says: 'Open sessions and connections of the user end. The password has at least 12 bytes.',
    asks: [['password', 'New password', 'password']],
    statement: (user, { password }) => `ALTER USER ${quoteName(user)} PASSWORD ${quoteText(password)}`,
  },
  ownPassword: {
    name: 'Change my password…',
    says: 'Your other sessions and connections end. The password has at least 12 bytes.',
    asks: [
      ['old', 'Current password', 'password'],
      ['password', 'New password', 'password'],
    ],
    statement: (_, { old, password }) => `ALTER USER CURRENT_USER PASSWORD ${quoteText(password)} OLD ${quoteText(old)}`,
  },
  disable: {
    name: 'Disable…',
    says: 'The user cannot sign in until somebody enables the user again. What the user has open ends.',
    asks: [],
    statement: (user) => `ALTER USER ${quoteName(user)} DISABLED`,
  },
  enable: {
    name: 'Enable…',
    says: 'The user can sign in again.',
    asks: [],
    statement: (user) => `ALTER USER ${quoteName(user)} ENABLED`,
  },
  dropUser: {
    name: 'Drop the user…',
    says: 'What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.',
    asks: [],
    statement: (user) => `DROP USER ${quoteName(user)}`,
    typed: true,
  },
  createRole: {
    name: 'New role…',
    says: 'A role is a named set of grants and of other roles.',
    asks: [['name', 'Name', 'text']],
    statement: (_, { name }) => `CREATE ROLE ${quoteName(name)}`,
  },
  dropRole: {
    name: 'Drop the role…',
    says: 'Users lose the rights that they have by this role only.',
    asks: [],
    statement: (role) => `DROP ROLE ${quoteName(role)}`,
    typed: true,
  },
  grant: {
    name: 'Grant…',
    says: 'On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.',
    asks: [
      ['privileges', 'Privileges', 'privileges'],
      ['on', 'On', 'target'],
    ],
    statement: (to, values) => `GRANT ${values.privileges} ON ${values.on} TO ${quoteName(to)}`,
  },
  grantRole: {
    name: 'Grant a role…',
    says: 'The user gets all rights of the role.',
    asks: [['role', 'Role', 'role']],
    statement: (to, { role }) => `GRANT ${quoteName(role)} TO ${quoteName(to)}`,
  },
  revoke: {
    name: 'Revoke…',
    says: 'Open requests, tails and connections that need this right end.',
    asks: [],
    statement: (grant) => revokeOf(grant),
  },
  createToken: {
    name: 'New token…',
    says: 'A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.',
    asks: [
      ['name', 'Name', 'text'],
      ['scope', 'May', 'scope'],
      ['on', 'Table, or a pattern', 'target'],
      ['expires', 'Expires in', 'lifetime'],
      ['note', 'Note', 'text?'],
    ],
    statement: (_, { name, scope, on, expires, note }) =>
      `CREATE TOKEN ${quoteName(name)} FOR ${scope === 'query' ? 'QUERY ON' : 'INGEST INTO'} ${on} ` +
      `EXPIRES ${expires === 'NEVER' ? 'NEVER' : `IN ${quoteText(expires)}`}${note ? ` NOTE ${quoteText(note)}` : ''}`,
  },
  rotate: {
    name: 'Rotate…',
    says: 'The token gets a new secret. The old one remains valid for 24 hours.',
    asks: [],
    statement: (token) => `ALTER TOKEN ${quoteName(token)} ROTATE`,
  },
  dropToken: {
    name: 'Drop the token…',
    says: 'Programs that use the token are refused at once. This cannot be undone.',
    asks: [],
    statement: (token) => `DROP TOKEN ${quoteName(token)}`,
    typed: true,
  },
};

/** What a target in GRANT and CREATE TOKEN may contain: no quote, semicolon or other part of a statement. */
export const targetPattern = {
  pattern: '(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+',
  title: 'write a name such as app.logs, or a pattern such as app.*',
};

/**
 * Returns the statement that revokes a grant, or '' if the text of the grant is not known.
 * @param {string} grant a line of SHOW GRANTS
 */
export function revokeOf(grant) {
  const parts = /^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(grant);
  return parts ? `REVOKE ${parts[1]} FROM ${parts[2]}` : '';
}

/**
 * Hides the values of passwords, for showing a statement, and marks those that are still missing.
 * @param {AccessAction} action
 * @param {Values} values
 * @returns {Values}
 */
export function hidePasswords(action, values) {
  const hidden = { ...values };
  for (const [key, , kind] of action.asks) if (kind === 'password' || (hidden[key] === '' && !kind.endsWith('?'))) hidden[key] = '…';
  return hidden;
}

/**
 * Says if a target names a table or a pipeline that there is not. A grant on it waits until there is one.
 * @param {string} target
 * @param {{tables: {db: string, name: string}[], pipelines: string[]}} known
 */
export function missingTarget(target, { tables, pipelines }) {
  const [, kind, name] = /^(PIPELINE |DATABASE |TABLE )?(.*)$/.exec(target) ?? [];
  if (!name || name.includes('*') || target === 'CLUSTER') return '';
  if (kind === 'PIPELINE ') return pipelines.includes(name) ? '' : `There is no pipeline ${name} yet.`;
  if (kind === 'DATABASE ') return tables.some((t) => t.db === name) ? '' : `There is no table in a database ${name} yet.`;
  const [db, table] = name.includes('.') ? [name.slice(0, name.indexOf('.')), name.slice(name.indexOf('.') + 1)] : ['public', name];
  return tables.some((t) => t.db === db && t.name === table) ? '' : `There is no table ${db}.${table} yet.`;
}

/**
 * Writes a command that uses a new token, so that it can be tried at once.
 * @param {string} origin of the server
 * @param {Values} values those with which the token was created
 * @param {string} secret
 */
export function tokenCommand(origin, { scope, on }, secret) {
  const parts = on.replace(/^(TABLE|DATABASE) /, '').split('.');
  const [db, table] = on.startsWith('DATABASE ') ? [parts[0], '*'] : parts.length > 1 ? parts : ['public', parts[0]];
  const [inDb, name] = [db.replace('*', 'public'), table.replace('*', 'app')]; // a name that the pattern covers
  const header = `-H ${shellQuoted(`Authorization: Bearer ${secret}`)}`;
  if (scope === 'query') {
    const sql = table.includes('*') ? 'SHOW TABLES' : `SELECT * FROM ${quoteName(name)} LIMIT 10`;
    return `curl ${shellQuoted(`${origin}/v1/sql?${new URLSearchParams({ db: inDb, format: 'ndjson' })}`)} ${header} \\\n     --data-urlencode ${shellQuoted(`sql=${sql}`)}`;
  }
  const query = new URLSearchParams({ db: inDb, table: name, pipeline_name: 'svc_identity' });
  return `curl ${shellQuoted(`${origin}/v1/ingest?${query}`)} ${header} \\\n     -H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"}]'`;
}
