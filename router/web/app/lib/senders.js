// Configurations of senders for a server, a database, a table, a pipeline and a user. They are those of docs/ingestion.md.
//
// The names come from the address of the page, which anybody may have written. What is copied into a shell or a file of
// settings must not do more than send rows, so that there is a configuration for names that the server takes and for no others.

import { shellWord } from './format.js';

/**
 * @typedef {{origin: string, db: string, table: string, pipeline: string, user: string}} Target
 * @typedef {{id: string, name: string, file: string, note?: string, text: (to: Target) => string}} Sender
 */

/** @param {Target} to */
function address(to) {
  const db = to.db === 'public' ? '' : `db=${encodeURIComponent(to.db)}&`;
  return `${to.origin}/v1/ingest?${db}table=${encodeURIComponent(to.table)}&pipeline_name=${encodeURIComponent(to.pipeline)}`;
}

/** The options of a command that name the table. @param {Target} to */
function tableOf(to) {
  return `${to.db === 'public' ? '' : `--db ${to.db} `}--table ${to.table}`;
}

/** The names that the server takes. None of them has a meaning to a shell or in a file of settings. */
const names = {
  database: /^[A-Za-z_][\w.-]{0,127}$/,
  table: /^[A-Za-z_:-][\w:.@#-]{0,127}$/,
  pipeline: /^[\w.:-]{1,128}$/,
};

/**
 * Returns what is wrong with a name, '' if nothing is. There is a configuration only if nothing is.
 * @param {{db: string, table: string, pipeline: string}} to
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
function hostOf(to) {
  const url = new URL(to.origin);
  return { host: url.hostname, port: url.port || (url.protocol === 'https:' ? '443' : '80'), secure: url.protocol === 'https:' };
}

/** @type {Sender[]} */
export const senders = [
  {
    id: 'curl',
    name: 'curl',
    file: 'in a shell',
    text: (to) => `curl -X POST '${address(to)}' \\
     ${to.user ? `-u ${shellWord(to.user)}:"$CORDWOOD_PASSWORD" ` : ''}-H 'Content-Type: application/json' \\
     -d '[{"level":"info","message":"hello"}]'`,
  },
  {
    id: 'cordwood',
    name: 'cordwood',
    file: 'in a shell',
    note: 'Sends a file, also a compressed one. After a lost answer it sends a batch again, and the batch is stored once.',
    text: (to) =>
      `${to.user ? `export CORDWOOD_USER=${shellWord(to.user)}:"$CORDWOOD_PASSWORD"\n` : ''}cordwood ingest --server ${to.origin} ${tableOf(to)} --pipeline ${to.pipeline} app.ndjson`,
  },
  {
    id: 'journald',
    name: 'journald',
    file: 'in a shell, or as a unit of systemd',
    text: (to) => `journalctl --output json --follow --since now |
  cordwood ingest --server ${to.origin} --forever ${tableOf(to)} \\
    --custom-time-index '__REALTIME_TIMESTAMP;epoch;us' -`,
  },
  {
    id: 'vector',
    name: 'Vector',
    file: 'vector.yaml',
    text: (to) => `sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${address(to)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${to.origin}/health}${to.user ? `\n    auth: {strategy: basic, user: ${to.user}, password: "\${CORDWOOD_PASSWORD}"}` : ''}`,
  },
  {
    id: 'fluent-bit',
    name: 'Fluent Bit',
    file: 'fluent-bit.yaml',
    text: (to) => {
      const { host, port, secure } = hostOf(to);
      return `service:
  storage.path: /var/lib/fluent-bit
pipeline:
  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}
  outputs:
    - name: http
      match: '*'
      host: ${host}
      port: ${port}${secure ? '\n      tls: on' : ''}
      uri: ${address(to).slice(to.origin.length)}&custom_time_index=date;datestr;%Y-%m-%dT%H:%M:%S%.fZ
      format: json_lines
      json_date_format: iso8601
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${to.user ? `\n      http_user: ${to.user}\n      http_passwd: \${CORDWOOD_PASSWORD}` : ''}`;
    },
  },
  {
    id: 'fluentd',
    name: 'Fluentd',
    file: 'fluentd.conf',
    text: (to) => `<filter app.**>
  @type record_transformer       # the time of the event is not in the record
  enable_ruby true
  <record>
    time \${(time.to_f * 1000).to_i}
  </record>
</filter>
<match app.**>
  @type http
  endpoint ${address(to)}&custom_time_index=time;epoch;ms
  content_type application/x-ndjson
  retryable_response_codes 408,429,503${to.user ? `\n  <auth>\n    method basic\n    username ${to.user}\n    password "#{ENV['CORDWOOD_PASSWORD']}"\n  </auth>` : ''}
  <format>
    @type json
  </format>
  <buffer>
    @type file
    path /var/lib/fluentd/cordwood
    chunk_limit_size 2m
    flush_interval 1s
    retry_forever true
    retry_max_interval 30s
  </buffer>
</match>`,
  },
  {
    id: 'logstash',
    name: 'Logstash',
    file: 'a file of pipeline.conf',
    note: 'Set queue.type: persisted in logstash.yml, so that nothing is lost when Logstash stops.',
    text: (to) => `output {
  http {
    url => "${address(to)}&custom_time_index=@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ"
    http_method => "post"
    format => "json_batch"
    http_compression => true
    retry_failed => true
    retryable_codes => [408, 429, 500, 502, 503, 504]${to.user ? `\n    user => "${to.user}"\n    password => "\${CORDWOOD_PASSWORD}"` : ''}
  }
}`,
  },
  {
    id: 'syslog-ng',
    name: 'syslog-ng',
    file: 'syslog-ng.conf',
    text: (to) => `source s_local { system(); internal(); };
destination d_cordwood {
  http(
    url("${address(to)}")${to.user ? `\n    user("${to.user}") password("\`CORDWOOD_PASSWORD\`")` : ''}
    method("POST") headers("Content-Type: application/x-ndjson")
    body("$(format-json --scope rfc5424 --key ISODATE)") delimiter("\\n")
    batch-lines(1000) batch-timeout(1000) workers(2) persist-name("cordwood")
    disk-buffer(reliable(yes) disk-buf-size(1073741824) mem-buf-size(16777216))
    retries(1000000)
  );
};
log { source(s_local); destination(d_cordwood); flags(flow-control); };`,
  },
  {
    id: 'rsyslog',
    name: 'rsyslog',
    file: 'rsyslog.conf',
    text: (to) => `module(load="omprog")
template(name="ndjson" type="list" option.jsonf="on") {
  property(outname="time" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="program" name="programname" format="jsonf")
  property(outname="severity" name="syslogseverity-text" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
action(type="omprog" template="ndjson" name="cordwood" output="/var/log/cordwood-ingest.log"
       binary="/usr/bin/cordwood ingest --server ${to.origin} --forever --format ndjson ${tableOf(to)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`,
  },
];
