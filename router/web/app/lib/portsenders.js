// Senders for protocols with separate ports, which a flag of the server opens.

import { hostOf, identity, yamlHeaders, yamlText } from './senderparts.js';

/** @typedef {import('./senderparts.js').Sender} Sender */
/** @typedef {import('./senderparts.js').Target} Target */

/**
 * The value of a flag that opens ports for this table and pipeline.
 * @param {string[]} ports
 */
function opens(...ports) {
  return (/** @type {Target} */ to) => ports.map((port) => port + withQuery([`table=${to.table}`, ...placeOf(to)])).join(',');
}

/** The parameters of a port that its senders cannot set: the database and the pipeline. @param {Target} to */
function placeOf(to) {
  return [...(to.db === 'public' ? [] : [`db=${to.db}`]), ...(to.pipeline === identity ? [] : [`pipeline=${to.pipeline}`])];
}

/** @param {string[]} parameters */
function withQuery(parameters) {
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`;
}

/** @type {Sender[]} */
export const portSenders = [
  {
    id: 'syslog',
    name: 'syslog',
    file: 'in a shell',
    note: 'Set the same host and port in routers, switches and other devices.',
    port: { flag: 'syslog-addr', text: opens('udp://0.0.0.0:5514', 'tcp://0.0.0.0:5514') },
    text: (to) => `logger --server ${hostOf(to).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`,
  },
  {
    id: 'docker',
    name: 'Docker',
    file: 'compose.yaml',
    note: 'A container starts only if the port answers.',
    port: { flag: 'splunk-addr', text: (to) => `0.0.0.0:8088${withQuery(placeOf(to))}` },
    text: (to) => `services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${new URL(to.origin).protocol}//${hostOf(to).host}:8088
        splunk-token: ${to.user ? JSON.stringify(`${to.user}:\${CORDWOOD_PASSWORD}`) : 'none'}
        splunk-index: ${yamlText(to.table)}
        splunk-format: json`,
  },
  {
    id: 'gelf',
    name: 'GELF',
    file: 'compose.yaml of Docker',
    port: { flag: 'gelf-addr', text: opens('udp://0.0.0.0:12201', 'tcp://0.0.0.0:12201') },
    text: (to) => `services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${hostOf(to).host}:12201
        tag: shop`,
  },
  {
    id: 'forward',
    name: 'Fluentd forward',
    file: 'fluent-bit.yaml',
    note: 'Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.',
    port: { flag: 'forward-addr', text: opens('tcp://0.0.0.0:24224') },
    text: (to) => `pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${hostOf(to).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`,
  },
  {
    id: 'otlp-grpc',
    name: 'OTLP by gRPC',
    file: 'otelcol.yaml',
    note: 'If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.',
    port: { flag: 'otlp-grpc-addr', text: () => '0.0.0.0:4317' },
    text: (to) => `exporters:
  otlp:
    endpoint: ${hostOf(to).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${yamlHeaders(to)}}
    retry_on_failure: {max_elapsed_time: 0}`,
  },
];
