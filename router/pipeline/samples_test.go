package pipeline

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
)

// samplePipelines are pipelines that people typically write for well-known kinds of lines.
var samplePipelines = library{
	"access": `
version: 2
description: combined log format of nginx and Apache
processors:
  - dissect:
      fields: [message]
      patterns:
        - '%{client} %{ident} %{user} [%{time}] "%{method} %{path} %{protocol}" %{status} %{bytes} "%{referer}" ` +
		`"%{user_agent}"'
        - '%{client} %{ident} %{user} [%{time}] "%{request}" %{status} %{bytes} "%{referer}" "%{user_agent}"'
  - date: {fields: [time], formats: ['%d/%b/%Y:%H:%M:%S %z']}
  - select: {type: exclude, fields: [message, ident]}
transform:
  - {fields: [status, bytes], type: int64, on_failure: ignore}
  - {field: time, type: 'timestamp, s', index: timestamp}
`,
	"nginx_error": `
processors:
  - regex:
      fields: ["message, e"]
      pattern: '^(?<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) \[(?<level>\w+)\] (?<pid>\d+)#(?<tid>\d+): ` +
		`(?:\*(?<cid>\d+) )?(?<text>.*?)(?:, client: (?<client>[^,]+))?(?:, server: (?<server>[^,]*))?(?:, request: ` +
		`"(?<request>[^"]*)")?(?:, host: "(?<host>[^"]*)")?$'
  - date: {field: "e_time", formats: ['%Y/%m/%d %H:%M:%S'], timezone: Europe/Berlin}
transform:
  - {field: "e_time, time", type: time, index: timestamp}
  - {field: "e_level, level", type: string, tag: true}
  - {fields: ["e_pid, pid", "e_cid, connection"], type: int64}
  - {fields: ["e_text, text", "e_client, client", "e_host, host"], type: string}
`,
	"apache_error": `
processors:
  - dissect: {field: message, pattern: '[%{ts}] [%{level}] %{text}'}
  - date: {field: "ts, time", formats: ['%a %b %d %H:%M:%S%.f %Y']}
  - select: {fields: [time, level, text]}
`,
	"hdfs": `
processors:
  - dissect: {field: message, pattern: '%{+ts} %{+ts} %{pid} %{level->} %{component}: %{text}'}
  - date: {field: ts, formats: ['%y%m%d %H%M%S']}
  - regex: {field: "text, block", pattern: '(?P<id>blk_-?\d+)', ignore_missing: true}
transform:
  - {field: ts, type: 'time, s', index: timestamp}
  - {field: pid, type: int32}
  - {field: level, type: string, index: tag}
  - {field: component, type: string, index: skipping}
  - {field: block_id, type: string, index: inverted}
  - {field: text, type: string, index: fulltext}
`,
	"zookeeper": `
processors:
  - dissect: {field: message, pattern: '%{ts} - %{level->} [%{source}] - %{text}'}
  - regex: {field: "source, at", pattern: '^(?<thread>.*):(?<class>[^:@]+)@(?<line>\d+)$'}
  - date: {field: ts, formats: ['%Y-%m-%d %H:%M:%S,%3f']}
  - select: {type: exclude, fields: [message, source]}
`,
	"openssh": `
version: 2
processors:
  - dissect: {field: message, pattern: '%{+ts->} %{+ts} %{+ts} %{host} %{program}[%{pid}]: %{text}'}
  - date: {field: "ts, seen", formats: ['%b %e %H:%M:%S']}
  - regex:
      field: "text, ssh"
      patterns:
        - '(?:Failed|Accepted) \S+ for (?:invalid user )?(?<user>\S*) from (?<ip>\S+) port (?<port>\d+)'
        - 'rhost=(?<ip>\S+)'
        - '^(?<result>Failed|Accepted)'
  - filter: {field: text, match_op: in, targets: ['pam_unix(sshd:auth): check pass; user unknown']}
  - select: {type: exclude, fields: [message, ts, seen]}
transform:
  - {field: "svc_timestamp, at", type: 'time, ms', index: timestamp, on_failure: default}
  - {fields: [pid, "ssh_port, port"], type: int32, on_failure: default}
`,
	"syslog": `
processors:
  - dissect:
      field: message
      patterns:
        - '%{+ts->} %{+ts} %{+ts} %{host} %{program}[%{pid}]: %{text}'
        - '%{+ts->} %{+ts} %{+ts} %{host} %{program}: %{text}'
        - '%{+ts->} %{+ts} %{+ts} %{host} %{text}'
  - date: {field: ts, formats: ['%b %d %H:%M:%S'], timezone: America/New_York}
  - select: {fields: [host, program, pid, text]}
transform:
  - {fields: [host, program], type: string, tag: true}
  - {field: pid, type: int32}
  - {field: text, type: string}
`,
	"proxy": `
version: 2
description: edge proxy lines
processors:
  - dissect: {fields: [message], patterns: ['%{peer} %{when} %{code} %{rest}'], ignore_missing: false}
  - epoch: {field: when, resolution: s}
  - select: {type: exclude, fields: [message]}
transform:
  - field: "when, at"
    type: epoch, s
    index: timestamp
  - field: code
    type: int32
    on_failure: ignore
table_suffix: _${peer}
`,
	"cri": `
processors:
  - dissect: {field: message, pattern: '%{time} %{stream} %{flag} %{log}'}
  - date: {field: time}
  - filter: {field: stream, match_op: not_in, targets: [stdout, stderr]}
  - json_parse: {field: "log, body"}
  - simple_extract: {field: "body, level", key: level}
  - select: {fields: [time, stream, level, body]}
`,
	"csv_metrics": `
processors:
  - csv: {field: message, target_fields: 'at,host,tags,value', trim: true}
  - epoch: {field: at, resolution: s}
  - gsub: {field: host, pattern: '\.example\.(com|net)$', replacement: '@$1'}
  - letter: {field: host, method: upper}
transform:
  - {field: at, type: 'epoch, s', index: timestamp}
  - {fields: [host, tags], type: string}
  - {field: value, type: float64}
table_suffix: _${host}
`,
}

func TestSamples(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{"nginx access", samplePipelines["access"], nil, samples(
			`192.0.2.7 - - [05/Jan/2026:13:55:36 +0100] "GET /a?b=%20c HTTP/2.0" 200 612 "-" "curl/8.5.0"`,
			`2001:db8::1 - bob [05/Jan/2026:13:55:37 +0100] "\x16\x03\x01" 400 - "-" "-"`,
		), `
			t
			status Int64: 200 400
			bytes Int64: 612 -
			time TimestampSecond TIMESTAMP: 1767617736 1767617737
			client String: "192.0.2.7" "2001:db8::1"
			method String: "GET" -
			path String: "/a?b=%20c" -
			protocol String: "HTTP/2.0" -
			referer String: "-" "-"
			user String: "-" "bob"
			user_agent String: "curl/8.5.0" "-"
			request String: - "\\x16\\x03\\x01"`},
		{"nginx error", samplePipelines["nginx_error"], nil, samples(
			`2026/07/05 13:55:36 [error] 31#31: *17 open() "/srv/favicon.ico" failed (2: No such file or directory), client: `+
				`192.0.2.7, server: localhost, request: "GET /favicon.ico HTTP/1.1", host: "example.com"`,
			`2026/07/05 13:55:36 [notice] 1#1: start worker processes`,
		), `
			t
			time TimestampNanosecond TIMESTAMP: 1783252536000000000 1783252536000000000
			level String TAG: "error" "notice"
			pid Int64: 31 1
			connection Int64: 17 -
			text String: "open() \"/srv/favicon.ico\" failed (2: No such file or directory)" "start worker processes"
			client String: "192.0.2.7" -
			host String: "example.com" -`},
		{"Apache error", samplePipelines["apache_error"], nil, samples(
			`[Mon Jan 05 13:55:36 2026] [notice] child 17 in slot 3`,
			`[Mon Jan  5 13:55:36.250000 2026] [error] [client 192.0.2.7] denied`,
		), `
			t
			time TimestampNanosecond TIMESTAMP: 1767621336000000000 1767621336250000000
			level String: "notice" "error"
			text String: "child 17 in slot 3" "[client 192.0.2.7] denied"`},
		{"HDFS", samplePipelines["hdfs"], nil, samples(
			`260105 135536 148 INFO dfs.DataNode$PacketResponder: Responder 1 for block blk_-386 done`,
			`260105 135537 19 WARN  dfs.FSNamesystem: nothing to do`,
		), `
			t
			ts TimestampSecond TIMESTAMP: 1767621336 1767621337
			pid Int32: 148 19
			level String TAG: "INFO" "WARN"
			component String: "dfs.DataNode$PacketResponder" "dfs.FSNamesystem"
			block_id String: "blk_-386" -
			text String: "Responder 1 for block blk_-386 done" "nothing to do"`},
		{"Zookeeper", samplePipelines["zookeeper"], nil, samples(
			`2026-01-05 13:55:36,747 - INFO  [QuorumPeer[myid=1]/0:0:0:2181:Election@774] - Notification time out: 3200`,
			`2026-01-05 13:55:36,748 - WARN  [/192.0.2.7:3888:Manager$Listener@493] - a - b`,
		), `
			t
			ts TimestampNanosecond TIMESTAMP: 1767621336747000000 1767621336748000000
			at_class String: "Election" "Manager$Listener"
			at_line String: "774" "493"
			at_thread String: "QuorumPeer[myid=1]/0:0:0:2181" "/192.0.2.7:3888"
			level String: "INFO" "WARN"
			text String: "Notification time out: 3200" "a - b"`},
		{"OpenSSH", samplePipelines["openssh"], nil, samples(
			`Jan  5 13:55:36 web1 sshd[24200]: Failed password for invalid user admin from 192.0.2.7 port 38926 ssh2`,
			`Jan 15 13:55:36 web1 sshd[24200]: pam_unix(sshd:auth): check pass; user unknown`,
			`Jan 15 13:55:36 web1 sshd[24201]: pam_unix(sshd:auth): authentication failure; euid=0 rhost=192.0.2.8`,
		), `
			t
			at TimestampMillisecond TIMESTAMP: 1700000000000 1700000000000
			pid Int32: 24200 24201
			port Int32: 38926 -
			host String: "web1" "web1"
			program String: "sshd" "sshd"
			ssh_ip String: "192.0.2.7" "192.0.2.8"
			ssh_result String: "Failed" -
			ssh_user String: "admin" -
			text String: "Failed password for invalid user admin from 192.0.2.7 port 38926 ssh2" "pam_unix(sshd:auth): ` +
			`authentication failure; euid=0 rhost=192.0.2.8"`},
		{"syslog", samplePipelines["syslog"], nil, samples(
			`Jul  5 04:02:01 gate su(pam_unix)[2605]: session opened for user news by (uid=0)`,
			`Jul 15 04:02:02 gate kernel: klogd 1.4.1, log source = /proc/kmsg started.`,
			`Jul 15 04:02:03 gate -- MARK --`,
		), `
			t
			host String TAG: "gate" "gate" "gate"
			program String TAG: "su(pam_unix)" "kernel" -
			pid Int32: 2605 - -
			text String: "session opened for user news by (uid=0)" "klogd 1.4.1, log source = /proc/kmsg started." "-- MARK --"
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2`},
		{"proxy", samplePipelines["proxy"], nil, samples("10.0.0.9 1700000000 x00 hello there", "10.0.0.8 1700000001 7 x"), `
			t_10.0.0.9
			at TimestampSecond TIMESTAMP: 1700000000
			code Int32: -
			peer String: "10.0.0.9"
			rest String: "hello there"
			t_10.0.0.8
			at TimestampSecond TIMESTAMP: 1700000001
			code Int32: 7
			peer String: "10.0.0.8"
			rest String: "x"`},
		{"Kubernetes", samplePipelines["cri"], nil, samples(
			`2026-01-05T13:55:36.123456789Z stdout F {"level":"info","msg":"up"}`,
			`2026-01-05T13:55:37+01:00 stderr F {"msg":"down"}`,
			`2026-01-05T13:55:37+01:00 other F {}`,
		), `
			t
			time TimestampNanosecond TIMESTAMP: 1767621336123456789 1767617737000000000
			body Json: "{\"level\":\"info\",\"msg\":\"up\"}" "{\"msg\":\"down\"}"
			level String: "info" -
			stream String: "stdout" "stderr"`},
		{"CSV", samplePipelines["csv_metrics"], nil, samples(`1767621336, web1.example.com , "a, b", 1.5`), `
			t_WEB1@COM
			at TimestampSecond TIMESTAMP: 1767621336
			host String: "WEB1@COM"
			tags String: "a, b"
			value Float64: 1.5`},
		{
			"no line of the kind", samplePipelines["zookeeper"], nil, samples(`hello`),
			`!Processor dissect: No matching pattern found`,
		},
	})
}

// samples returns lines of text as records.
func samples(lines ...string) string {
	var s string
	for _, l := range lines {
		s += "text:" + l + "\n"
	}
	return s
}

// TestSampleFiles runs whole files through these pipelines: NAME.log in the folder CORDWOOD_SAMPLES, for each
// NAME here.
func TestSampleFiles(t *testing.T) {
	folder := os.Getenv("CORDWOOD_SAMPLES")
	if folder == "" {
		t.Skip("CORDWOOD_SAMPLES is not set")
	}
	for file, name := range map[string]string{
		"Apache_2k": "apache_error", "Zookeeper_2k": "zookeeper", "OpenSSH_2k": "openssh", "HDFS_2k": "hdfs",
		"Linux_2k": "syslog",
	} {
		t.Run(file, func(t *testing.T) {
			f, err := os.Open(filepath.Join(folder, file+".log"))
			if err != nil {
				t.Skip(err)
			}
			defer f.Close()
			p, err := Compile([]byte(samplePipelines[name]), Options{})
			if err != nil {
				t.Fatal(err)
			}
			runner, err := NewRunner(p, request(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer runner.Release()
			lines := 0
			for s := bufio.NewScanner(f); s.Scan(); lines++ {
				if err := runner.TextRecord(s.Bytes()); err != nil {
					t.Fatalf("line %d: %v", lines+1, err)
				}
			}
			out, err := runner.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if out.Records != lines {
				t.Errorf("%d records of %d lines", out.Records, lines)
			}
		})
	}
}
