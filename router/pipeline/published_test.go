package pipeline

import "testing"

// TestUsualPipelines runs pipelines that people typically write for well-known logs, on lines of these logs.
func TestUsualPipelines(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{"nginx", `
version: 2
processors:
  - dissect:
      fields:
        - message
      patterns:
        - '%{ip_address} - - [%{timestamp}] "%{http_method} %{request_line}" %{status_code} %{response_size} "-" ` +
			`"%{user_agent}"'
      ignore_missing: true
  - date:
      fields:
        - timestamp
      formats:
        - "%d/%b/%Y:%H:%M:%S %z"
  - select:
      type: exclude
      fields:
        - message
  - vrl:
      source: |
        .svc_table_ttl = "7d"
        .
transform:
  - fields:
      - ip_address
    type: string
    index: inverted
    tag: true
  - fields:
      - status_code
    type: int32
    index: inverted
    tag: true
  - fields:
      - request_line
      - user_agent
    type: string
    index: fulltext
  - fields:
      - response_size
    type: int32
  - fields:
      - timestamp
    type: time
    index: timestamp
`, nil, `text:127.0.0.1 - - [25/May/2024:20:16:37 +0000] "GET /index.html HTTP/1.1" 200 612 "-" "Mozilla/5.0 (X11; ` +
			`Linux x86_64)"`, `
			t ttl=7days
			ip_address String TAG: "127.0.0.1"
			status_code Int32 TAG: 200
			request_line String: "/index.html HTTP/1.1"
			user_agent String: "Mozilla/5.0 (X11; Linux x86_64)"
			response_size Int32: 612
			timestamp TimestampNanosecond TIMESTAMP: 1716668197000000000
			http_method String: "GET"`},
		{"apache errors", `
processors:
  - dissect: {field: message, patterns: ['[%{time}] [%{level}] [client %{client}] %{text}', ` +
			`'[%{time}] [%{level}] %{text}']}
  - date: {field: time, formats: ['%a %b %d %H:%M:%S %Y'], timezone: Europe/Berlin}
  - select: {type: include, fields: [time, level, client, text]}
`, nil, "text:[Sun Dec 04 04:51:18 2005] [error] mod_jk child workerEnv in error state 6", `
			t
			time TimestampNanosecond TIMESTAMP: 1133668278000000000
			level String: "error"
			text String: "mod_jk child workerEnv in error state 6"`},
		{"zookeeper", `
version: 2
processors:
  - regex:
      field: message, z
      pattern: '^(?<time>\S+ \S+) - (?<level>\w+)\s+\[(?<thread>.*)@(?<line>\d+)\] - (?<text>.*)$'
  - date: {field: z_time, formats: ['%Y-%m-%d %H:%M:%S,%3f']}
  - select: {type: exclude, field: message}
transform:
  - {field: 'z_time, ts', type: 'timestamp, ms', index: timestamp}
  - {field: 'z_line, line', type: int32, on_failure: ignore}
`, nil, "text:2015-07-29 19:04:12,394 - INFO  [/10.10.34.11:3888:QuorumCnxManager$Listener@493] - Received " +
			"connection request /10.10.34.11:45307", `
			t
			ts TimestampMillisecond TIMESTAMP: 1438196652394
			line Int32: 493
			z_level String: "INFO"
			z_text String: "Received connection request /10.10.34.11:45307"
			z_thread String: "/10.10.34.11:3888:QuorumCnxManager$Listener"`},
		{"kubernetes container lines", `
processors:
  - dissect: {field: message, patterns: ['%{time} %{stream} %{flag} %{log}']}
  - date: {field: time}
  - json_parse: {field: log}
  - simple_extract: {field: "log, level", key: lvl}
  - select: {type: include, fields: [time, stream, level, log]}
`, nil, `text:2024-05-06T07:08:09.123456789Z stdout F {"lvl":"warn","msg":"slow","ms":12}`, `
			t
			time TimestampNanosecond TIMESTAMP: 1714979289123456789
			level String: "warn"
			log Json: "{\"lvl\":\"warn\",\"ms\":12,\"msg\":\"slow\"}"
			stream String: "stdout"`},
	})
}
