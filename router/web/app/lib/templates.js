// Texts that a new pipeline begins with: the recipes of docs/pipelines.md, each with a line that it reads.

/** @typedef {{name: string, sample: string, text: string}} Template */

/** @type {Template[]} */
export const templates = [
  {
    name: 'nginx, Apache: access log',
    sample: '10.1.2.3 - ann [05/Jan/2026:10:11:12 +0100] "GET /cart?id=7 HTTP/1.1" 200 5316 "-" "Mozilla/5.0"',
    text: `version: 2
processors:
  - dissect:
      field: message
      pattern: '%{client} - %{user} [%{at}] "%{method} %{path} %{protocol}" %{status} %{bytes} "%{referer}" "%{agent}"'
  - date: {field: at, formats: ['%d/%b/%Y:%H:%M:%S %z']}
  - select: {type: exclude, field: message}
transform:
  - {field: at, type: timestamp, index: timestamp}
  - {fields: [status, bytes], type: int64, on_failure: ignore}
`,
  },
  {
    name: 'JSON, changed by a program',
    sample: '{"time":"2026-01-05T10:00:00.25Z","level":"info","http":{"method":"GET","status":200},"took_ms":3.5}',
    text: `version: 2
processors:
  - date: {field: time}
  - vrl:
      source: |
        .severity = downcase(string(del(.level)) ?? "info")
        if is_float(.took_ms) { .took = float!(del(.took_ms)) / 1000.0 }
        del(.password)
        .
transform:
  - {field: time, type: timestamp, index: timestamp}
  - {field: severity, type: string, index: inverted}
`,
  },
  {
    name: 'syslog',
    sample: '<34>1 2026-01-05T10:00:00.003Z web1 su 77 ID47 [meta seq="9"] su root failed for ann',
    text: `version: 2
processors:
  - syslog: {field: message, timezone: UTC}
transform:
  - {field: "timestamp, at", type: timestamp, index: timestamp, on_failure: default}
  - {fields: [hostname, appname], type: string, tag: true}
  - {field: message, type: string, index: fulltext}
`,
  },
  {
    name: 'OpenSSH',
    sample: 'Dec 10 06:55:48 LabSZ sshd[24200]: Failed password for invalid user webmaster from 173.234.31.186 port 38926 ssh2',
    text: `version: 2
processors:
  - syslog: {field: message, format: rfc3164}
  - grok:
      field: message
      ignore_no_match: true
      patterns:
        - '(?<event>Accepted|Failed) %{WORD:method} for (?:invalid user )?%{NOTSPACE:user} from %{IP:ip} port %{INT:port:int}'
        - '(?<event>Invalid user) %{NOTSPACE:user} from %{IP:ip}'
  - letter: {field: event, method: lower, ignore_missing: true}
transform:
  - {field: "timestamp, at", type: timestamp, index: timestamp}
  - {fields: [hostname, appname], type: string, tag: true}
  - {field: ip, type: string, index: skipping}
`,
  },
  {
    name: 'Apache: error log',
    sample: '[Sun Dec 04 04:51:08 2005] [error] [client 10.0.0.9] File does not exist: /var/www/favicon.ico',
    text: `version: 2
processors:
  - dissect:
      field: message
      patterns:
        - '[%{at}] [%{level}] [client %{client}] %{text}'
        - '[%{at}] [%{level}] %{text}'
  - date: {field: at, formats: ['%a %b %d %H:%M:%S %Y', '%a %b %d %H:%M:%S%.f %Y'], timezone: Europe/Berlin}
  - select: {type: exclude, field: message}
transform:
  - {field: at, type: timestamp, index: timestamp}
  - {field: text, type: string, index: fulltext}
`,
  },
];
