package clients

import (
	"path/filepath"
	"testing"
)

var rustClients = []client{
	documents("rust-elasticsearch", programs, false),
	documents("rust-opensearch", programs, false),
	{
		name: "rust-tracing-loki", address: (*server).lokiAddr, table: "loki_logs", mark: "line->>'mark'", again: itself,
		columns: `app = 'shop' AND line->>'message' = 'a record' AND level = LEVEL`,
	},
	{
		name: "rust-tracing-gelf", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark", again: nobody,
		columns: `message = 'a record' AND level = CASE WHEN MARK % 10 = 0 THEN 3 ELSE 5 END AND app = 'shop'`,
	},
	{
		name: "rust-syslog-udp", address: (*server).syslogAddr, table: "syslog", mark: markInText, datagrams: true,
		columns: ofSyslog + ` AND appname = 'shop' AND hostname = 'web1'`, again: nobody,
	},
	// The exporters retry only with an experimental feature.
	otlp("rust-otlp-grpc", (*server).callsAddr, nobody),
	otlp("rust-otlp-http", (*server).otlpAddr, nobody),
	otlp("rust-otlp-json", (*server).otlpAddr, nobody),
}

func TestRust(t *testing.T) {
	rust.need(t, "rust", "cargo build -q")
	run(t, rustClients, program(filepath.Join("rust", "target", "debug", "send")))
}
