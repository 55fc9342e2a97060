// Configurations of senders for a server, a database, a table, a pipeline and a user. They are those of docs/ingestion.md,
// which a test compares.

import { shellWord } from './format.js';
import { portSenders } from './portsenders.js';
import { address, fluentBit, fluentdText, hostOf, identity, loginOf, tableOf, timedAddress, tomlHeaders, yamlHeaders, yamlText } from './senderparts.js';

export { openPort, wrongName } from './senderparts.js';

/** @typedef {import('./senderparts.js').Sender} Sender */

/** @type {Sender[]} */
export const senders = [
  {
    id: 'curl',
    name: 'curl',
    file: 'in a shell',
    text: (to) => `curl -X POST '${address(to)}' \\
     ${to.user ? `-u ${shellWord(to.user)}:"$CORDWOOD_PASSWORD" ` : ''}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`,
  },
  {
    id: 'cordwood',
    name: 'cordwood',
    file: 'in a shell',
    note: 'Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.',
    text: (to) => `${loginOf(to)}cordwood ingest --server ${to.origin} ${tableOf(to)} app.ndjson.gz`,
  },
  {
    id: 'journald',
    name: 'journald',
    file: 'in a shell, or as a unit of systemd',
    text: (to) => `${loginOf(to)}journalctl --output json --follow --since now |
  cordwood ingest --server ${to.origin} --forever ${tableOf(to)}${to.pipeline === identity ? " --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'" : ''} -`,
  },
  {
    id: 'vector',
    name: 'Vector',
    file: 'vector.yaml',
    lacks: ({ table }) => (table.includes('#') ? 'Vector reads % in an address as a part of a time, so it cannot send to a table with # in its name.' : ''),
    note: 'From version 0.57 on, start Vector with --dangerously-allow-env-var-interpolation, so that it reads variables, or take the password from one of its secret backends.',
    text: (to) => `sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${timedAddress(to, 'timestamp;rfc3339')}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${to.origin}/health}${to.user ? `\n    auth: {strategy: basic, user: ${yamlText(to.user)}, password: "\${CORDWOOD_PASSWORD}"}` : ''}`,
  },
  {
    id: 'fluent-bit',
    name: 'Fluent Bit',
    file: 'fluent-bit.yaml',
    text: (to) =>
      fluentBit(
        to,
        `  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,
        'iso8601',
      ),
  },
  {
    id: 'kubernetes',
    name: 'Kubernetes',
    file: 'fluent-bit.yaml of a DaemonSet of Fluent Bit',
    note: 'Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.',
    text: (to) =>
      fluentBit(
        to,
        `  inputs:
    - name: tail
      path: /var/log/containers/*.log
      multiline.parser: docker, cri
      tag: kube.*
      db: /var/lib/fluent-bit/tail.db
      storage.type: filesystem
  filters:
    - name: kubernetes
      match: kube.*`,
        'double',
      ),
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
  endpoint ${timedAddress(to, 'time;epoch;ms')}
  content_type application/x-ndjson
  retryable_response_codes 408,429,500,502,503,504${to.user ? `\n  <auth>\n    method basic\n    username ${fluentdText(to.user)}\n    password "#{ENV['CORDWOOD_PASSWORD']}"\n  </auth>` : ''}
  <format>
    @type json
  </format>
  <buffer>
    @type file
    path /var/lib/fluentd/cordwood
    chunk_limit_size 2m
    flush_interval 1s
    flush_thread_count 4
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
    url => "${timedAddress(to, '@timestamp;rfc3339')}"
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
    note: 'If the server has users, add --user NAME:PASSWORD to the command, and let only root read the file.',
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
  {
    id: 'opentelemetry',
    name: 'OpenTelemetry Collector',
    file: 'otelcol.yaml',
    text: (to) => `extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${
    to.user ? `\n  basicauth: {client_auth: {username: ${yamlText(to.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}` : ''
  }
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${to.origin}${to.user ? '\n    auth: {authenticator: basicauth}' : ''}
    compression: zstd
    headers: {${yamlHeaders(to)}}
    sending_queue:
      storage: file_storage
      batch: {flush_timeout: 1s, min_size: 1000, max_size: 5000, sizer: items}
    retry_on_failure: {max_elapsed_time: 0}
service:
  extensions:
    - file_storage${to.user ? '\n    - basicauth' : ''}
  pipelines:
    logs: {receivers: [filelog], exporters: [otlphttp]}`,
  },
  {
    id: 'alloy',
    name: 'Grafana Alloy',
    file: 'config.alloy',
    text: (to) => `loki.write "cordwood" {
  endpoint {
    url                 = "${to.origin}/loki/api/v1/push"
    headers             = {${tomlHeaders(to)}}
    max_backoff_retries = 0${
      to.user ? `\n    basic_auth {\n      username = ${JSON.stringify(to.user)}\n      password = sys.env("CORDWOOD_PASSWORD")\n    }` : ''
    }
  }
}
local.file_match "app" { path_targets = [{"__path__" = "/var/log/app/*.log", "app" = "shop"}] }
loki.source.file "app" {
  targets    = local.file_match.app.targets
  forward_to = [loki.write.cordwood.receiver]
}`,
  },
  {
    id: 'promtail',
    name: 'Promtail',
    file: 'promtail.yaml',
    note: 'Start Promtail with -config.expand-env=true, so that it reads variables.',
    text: (to) => `clients:
  - url: ${to.origin}/loki/api/v1/push
    backoff_config: {max_retries: 0}
    headers: {${yamlHeaders(to)}}${to.user ? `\n    basic_auth: {username: ${yamlText(to.user)}, password: "\${CORDWOOD_PASSWORD}"}` : ''}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`,
  },
  {
    id: 'filebeat',
    name: 'Filebeat',
    file: 'filebeat.yml',
    text: (to) => {
      const { host, port, secure } = hostOf(to);
      return `filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${secure ? 'https' : 'http'}://${host}:${port}/v1/elasticsearch"]${
    to.user ? `\n  username: ${yamlText(to.user)}\n  password: "\${CORDWOOD_PASSWORD}"` : ''
  }
  headers: {${yamlHeaders(to)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`;
    },
  },
  {
    id: 'telegraf',
    name: 'Telegraf',
    file: 'telegraf.conf',
    note: 'Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.',
    text: (to) => `[[outputs.loki]]
  domain = "${to.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${tomlHeaders(to)}}${to.user ? `\n  username = ${JSON.stringify(to.user)}\n  password = "\${CORDWOOD_PASSWORD}"` : ''}`,
  },
  ...portSenders,
];
