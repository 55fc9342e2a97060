// The users, roles, tokens and grants that the metadata of the cluster has.

import { quoteName, quoteText } from '../lib/sqlquote.js';
import { createLatest } from './latest.js';

/** @typedef {Record<string, string>} Entry a row of SHOW USERS, ROLES or TOKENS, by the names of its columns */

/** The most users and tokens that are listed. More are found by a part of their name. */
export const mostListed = 200;

const manage = /** @type {[string, string]} */ (['ACCESS', 'CLUSTER']);

/**
 * @param {import('../lib/api.js').Api} api
 * @param {Parameters<typeof createLatest>[0]} clock
 */
export function createAccess(api, clock) {
  /** @type {import('./latest.js').Latest<Entry[]>} */
  const users = createLatest(clock);
  /** @type {import('./latest.js').Latest<Entry[]>} */
  const roles = createLatest(clock);
  /** @type {import('./latest.js').Latest<Entry[]>} */
  const tokens = createLatest(clock);
  /** @type {import('./latest.js').Latest<string[]>} */
  const grants = createLatest(clock);
  /** @type {import('./latest.js').Latest<Entry[]>} */
  const action = createLatest(clock, { once: true });

  /**
   * @param {string} sql
   * @param {AbortSignal} signal
   * @param {[string, string]} [need] the privilege that it needs
   * @param {boolean} [secret] whether it has a password
   */
  async function entries(sql, signal, need, secret) {
    const { columns, rows } = await api.sql(sql, { signal, need, secret });
    return rows.map((row) => Object.fromEntries(columns.map((c, i) => [c.name, String(row[i] ?? '')])));
  }

  return {
    users,
    roles,
    tokens,
    grants,
    action,
    /** @param {string} find a part of the names */
    loadUsers: (find) => users.run((signal) => entries(`SHOW USERS${likeOf(find)} LIMIT ${mostListed}`, signal, manage)),
    loadRoles: () => roles.run((signal) => entries('SHOW ROLES LIMIT 1000', signal, manage)),
    /** @param {string} find a part of the names */
    loadTokens: (find) => tokens.run((signal) => entries(`SHOW TOKENS${likeOf(find)} LIMIT ${mostListed}`, signal)),
    /** @param {string} of a user or role */
    loadGrants: (of) => grants.run(async (signal) => (await api.sql(`SHOW GRANTS FOR ${quoteName(of)}`, { signal })).rows.map((row) => String(row[0])), of),
    /**
     * Runs a statement. The result has its rows, or is null if the statement failed.
     * @param {string} statement
     * @param {boolean} secret whether it has a password
     */
    async change(statement, secret) {
      await action.run((signal) => entries(statement, signal, undefined, secret));
      return action.error.value ? null : action.value.value;
    },
  };
}

/** @param {string} find */
function likeOf(find) {
  const text = find.trim();
  return text ? ` LIKE ${quoteText(`%${text}%`)}` : '';
}
