// Parts of the configurations of senders: the address of the server, headers, and names.
//
// The names come from the address of the page, which anybody may have written. What is copied into a shell or a file of
// settings must not do more than send rows, so that there is a configuration for names that the server takes and for no others.

import { shellWord } from './format.js';

/**
 * @typedef {{origin: string, db: string, table: string, pipeline: string, user: string}} Target
 * @typedef {{id: string, name: string, file: string, note?: string, text: (to: Target) => string, lacks?: (to: Names) => string, port?: Port}} Sender
 * @typedef {{flag: string, text: (to: Target) => string}} Port of a protocol that has ports of its own: the flag of the server that opens one, and its value
 * lacks returns what of the names the sender cannot say to the server, '' if it can say all.
 * @typedef {{db: string, table: string, pipeline: string}} Names
 */

/** @param {Target} to */
export function address(to) {
  const db = to.db === 'public' ? '' : `db=${inQuery(to.db)}&`;
  return `${to.origin}/v1/ingest?${db}table=${inQuery(to.table)}&pipeline_name=${inQuery(to.pipeline)}`;
}

/**
 * Writes a name into the query of an address. Some senders read % in an address as the beginning of a time, so that
 * characters that may stand in a query stay.
 * @param {string} name
 */
function inQuery(name) {
  return encodeURIComponent(name).replace(/%3A/g, ':').replace(/%40/g, '@');
}

/** The address, with the field that has the time. A pipeline of one's own says that itself. @param {Target} to @param {string} field */
export function timedAddress(to, field) {
  return address(to) + (to.pipeline === identity ? `&custom_time_index=${field}` : '');
}

/** The built-in pipeline, which keeps the fields of the sender. */
export const identity = 'svc_identity';

/** The options of `cordwood ingest` that name the table. @param {Target} to */
export function tableOf(to) {
  return `${to.db === 'public' ? '' : `--db ${to.db} `}--table ${to.table}${to.pipeline === identity ? '' : ` --pipeline ${to.pipeline}`}`;
}

/** The variable that has the user of `cordwood ingest`. @param {Target} to */
export function loginOf(to) {
  return to.user ? `export CORDWOOD_USER=${shellWord(to.user)}:"$CORDWOOD_PASSWORD"\n` : '';
}

/** The headers that name the table, for the protocols of other systems. @param {Target} to @returns {[string, string][]} */
export function headersOf(to) {
  /** @type {[string, string][]} */
  const headers = [['x-svc-log-table-name', to.table]];
  if (to.db !== 'public') headers.push(['x-svc-db-name', to.db]);
  if (to.pipeline !== identity) headers.push(['x-svc-pipeline-name', to.pipeline]);
  return headers;
}

/** @param {Target} to */
export function yamlHeaders(to) {
  return headersOf(to)
    .map(([name, value]) => `${name}: ${yamlText(value)}`)
    .join(', ');
}

/** Headers as TOML and Alloy write them. @param {Target} to */
export function tomlHeaders(to) {
  return headersOf(to)
    .map(([name, value]) => `"${name}" = "${value}"`)
    .join(', ');
}

/** Writes a text for YAML, in quotes if it could be taken for something else. @param {string} text */
export function yamlText(text) {
  return /^[a-z][\w.-]*$/i.test(text) && !/^(null|true|false|yes|no|on|off|y|n)$/i.test(text) ? text : JSON.stringify(text);
}

/** Writes a text for Fluentd, in quotes if it could be taken for something else. @param {string} text */
export function fluentdText(text) {
  return /^[a-z][\w.@-]*$/i.test(text) ? text : `'${text.replace(/[\\']/g, '\\$&')}'`;
}

/** The names that the server takes. None of them has a meaning to a shell or in a file of settings. */
const names = {
  database: /^[A-Za-z_][\w.-]{0,127}$/,
  table: /^[A-Za-z_:-][\w:.@#-]{0,127}$/,
  pipeline: /^[\w.:-]{1,128}$/,
};

/**
 * Returns what is wrong with a name, '' if nothing is. There is a configuration only if nothing is.
 * @param {Names} to
 */
export function wrongName({ db, table, pipeline }) {
  for (const [what, name] of /** @type {['database' | 'table' | 'pipeline', string][]} */ ([
    ['database', db],
    ['table', table],
    ['pipeline', pipeline],
  ])) {
    if (!names[what].test(name)) return `“${name}” cannot be the name of a ${what}. Use letters, digits, and the characters _ . : -`;
  }
  return '';
}

/** @param {Target} to */
export function hostOf(to) {
  const url = new URL(to.origin);
  return { host: url.hostname, port: url.port || (url.protocol === 'https:' ? '443' : '80'), secure: url.protocol === 'https:' };
}

/**
 * Finds at which address a server listens, by its settings; '' if it does not.
 * @param {string} config a line for each setting: syslog-addr = "tcp://0.0.0.0:5514"
 * @param {string} flag
 */
export function openPort(config, flag) {
  const line = config.split('\n').find((text) => text.startsWith(`${flag} = "`));
  return line ? line.slice(flag.length + 4, line.lastIndexOf('"')) : '';
}

/**
 * @param {Target} to
 * @param {string} sources the inputs and filters
 * @param {string} dates the format of dates if a pipeline of one's own reads them
 */
export function fluentBit(to, sources, dates) {
  const { host, port, secure } = hostOf(to);
  return `service:
  storage.path: /var/lib/fluent-bit
pipeline:
${sources}
  outputs:
    - name: http
      match: '*'
      host: ${host}
      port: ${port}${secure ? '\n      tls: on' : ''}
      uri: ${timedAddress(to, 'date;rfc3339').slice(to.origin.length)}
      format: json_lines
      json_date_format: ${to.pipeline === identity ? 'iso8601' : dates}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${to.user ? `\n      http_user: ${yamlText(to.user)}\n      http_passwd: \${CORDWOOD_PASSWORD}` : ''}`;
}
