// Requests to the server that the page came from.

import { bareFields } from './bare.js';
import { shellQuoted, shellWord } from './format.js';

/**
 * The server's answer to a refused request.
 * @typedef {object} ErrorBody
 * @property {number} [code]
 * @property {string} [error]
 * @property {{offset: number, length: number}} [at] the part of the search text that is wrong, in bytes
 * @property {string[]} [nearest]
 * @property {{line: number, message: string}[]} [faults] of a pipeline
 */

/** An error instead of an answer: what happened, and what a reader can do about it. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, body?: ErrorBody, retryAfter?: number, request?: Request}} of
   */
  constructor(message, of) {
    super(message);
    this.status = of.status ?? 0; // 0: no answer at all
    this.code = of.body?.code ?? 0;
    this.at = of.body?.at ?? null;
    this.nearest = of.body?.nearest ?? [];
    this.faults = of.body?.faults ?? [];
    this.retryAfter = of.retryAfter ?? 0;
    this.request = of.request ?? null;
    this.user = ''; // who sent it
  }
}

/**
 * @typedef {object} Request
 * @property {string} path
 * @property {'GET' | 'POST' | 'PUT' | 'DELETE'} [method]
 * @property {unknown} [body] sent as JSON
 * @property {Record<string, string>} [form] sent as a form
 * @property {string} [text] sent as it is; its type is in the headers
 * @property {AbortSignal} [signal]
 * @property {Record<string, string>} [headers]
 * @property {[string, string]} [need] the privilege that the request needs, and on what: without it nothing is sent
 * @property {boolean} [secret] it has a password: it is not offered as a command
 */

/** @typedef {ReturnType<typeof createApi>} Api */

/**
 * @param {object} from
 * @param {typeof globalThis.fetch} from.fetch
 * @param {{user: {value: string}, entries(): number, ask(before: number): Promise<void>, may(need: [string, string]): Promise<boolean>}} [from.signIn] the user; without it, nobody is asked to sign in
 */
export function createApi({ fetch, signIn }) {
  /** @param {Request} request */
  async function send(request) {
    if (request.need && signIn && !(await signIn.may(request.need))) {
      const [privilege, object] = request.need;
      throw new ApiError(`This needs the privilege ${privilege} on ${object === 'CLUSTER' ? 'the cluster' : object}.`, { status: 403, request });
    }
    /** @type {Record<string, string>} */
    const headers = { 'x-svc-page': '1', ...request.headers };
    /** @type {string | URLSearchParams | undefined} */
    let body = request.text;
    if (request.form) body = new URLSearchParams(request.form);
    if (request.body !== undefined) {
      headers['content-type'] = 'application/json';
      body = JSON.stringify(request.body);
    }
    const method = request.method ?? (body ? 'POST' : 'GET');
    const entries = signIn?.entries() ?? 0;
    let response;
    try {
      response = await fetch(request.path, { method, headers, body, signal: request.signal, cache: 'no-store' });
    } catch (error) {
      if (isAbort(error)) throw error;
      throw new ApiError('The server does not answer.', { request });
    }
    if (response.ok) return response;
    if (response.status === 401 && signIn) {
      await signIn.ask(entries); // until somebody signed in; then the same request goes on
      return send(request);
    }
    throw Object.assign(await errorOf(response, request), { user: signIn?.user.value ?? '' });
  }

  return {
    send,
    /** @param {Request} request */
    async json(request) {
      const response = await send(request);
      if (response.status === 204) return null;
      // Only answers of Explore have rows by the names of fields.
      return request.path.startsWith('/v1/explore/') ? JSON.parse(await response.text(), bareFields) : response.json();
    },
    /**
     * Runs statements and returns the rows of the last one, and those of all.
     * @param {string} sql
     * @param {{signal?: AbortSignal, db?: string, limit?: number, need?: [string, string], secret?: boolean}} [options]
     * @returns {Promise<SqlResult>}
     */
    async sql(sql, options = {}) {
      /** @type {Record<string, string>} */
      const form = { sql, integers: 'safe' };
      if (options.db) form.db = options.db;
      if (options.limit) form.limit = String(options.limit);
      const answer = await this.json({ path: '/v1/sql', form, signal: options.signal, need: options.need, secret: options.secret });
      const all = (answer.output ?? []).map((/** @type {any} */ output) => resultOf(output, answer.execution_time_ms));
      return { ...(all[all.length - 1] ?? resultOf({}, answer.execution_time_ms)), all };
    },
  };
}

/** @typedef {{columns: {name: string, type: string}[], rows: unknown[][], affected: number | null, ms: number, all?: SqlResult[]}} SqlResult all: those of all statements */

/** @param {any} output of a statement @param {number} ms @returns {SqlResult} */
function resultOf({ records, affectedrows }, ms) {
  if (!records) return { columns: [], rows: [], affected: affectedrows ?? 0, ms };
  const columns = records.schema.column_schemas.map((/** @type {any} */ c) => ({ name: c.name, type: c.data_type }));
  return { columns, rows: records.rows, affected: null, ms };
}

/**
 * @param {Response} response
 * @param {Request} request
 */
async function errorOf(response, request) {
  const text = await response.text().catch(() => '');
  /** @type {ErrorBody} */
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    // the answer comes from a proxy
  }
  const retryAfter = Number(response.headers.get('retry-after')) || 0;
  const message = body.error ?? (text.slice(0, 300) || `The server answered ${response.status}.`);
  return new ApiError(message, { status: response.status, body, retryAfter, request });
}

/** @param {unknown} error */
export function isAbort(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}

/**
 * Writes a request as a command for a shell. The password of the user stands in a variable.
 * @param {Request} request
 * @param {string} origin
 * @param {string} user who sends it; empty: the server has no users
 */
export function curlOf(request, origin, user) {
  const parts = ['curl', shellQuoted(origin + request.path)];
  if (user) parts.push('-u', `${shellWord(user)}:"$CORDWOOD_PASSWORD"`);
  if (request.method && request.method !== 'POST' && request.method !== 'GET') parts.push('-X', request.method);
  for (const [name, value] of Object.entries(request.form ?? {})) parts.push('--data-urlencode', shellQuoted(`${name}=${value}`));
  // --data-binary would send the file whose name stands behind an @.
  if (request.text !== undefined) parts.push('--data-raw', shellQuoted(request.text));
  if (request.body !== undefined) {
    parts.push('-H', shellQuoted('Content-Type: application/json'), '-d', shellQuoted(JSON.stringify(request.body)));
  }
  return parts.join(' ');
}
