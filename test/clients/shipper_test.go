package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// shipper is a program that sends the lines of a file. A code block of docs/ingestion.md configures it. In its
// settings, BLOCK stands for this block, and DIR for a temporary folder.
type shipper struct {
	program  []string // the name of the settings file is appended
	texts    []string // texts that identify the block
	settings string
}

const markInBody, markInLine = `regexp_extract(body, 'mark=(\d+)', 1)`, `regexp_extract(line, 'mark=(\d+)', 1)`

var (
	otelcol  = []string{"collector/otelcol", "--config"}
	telegraf = []string{"telegraf/telegraf", "--config"}
)

// collectorInput is the Collector's configuration without an exporter.
const collectorInput = `
receivers: {filelog: {include: [DIR/in.log], start_at: beginning, OPERATORS}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [filelog], exporters: [EXPORTER]}}}
BLOCK`

// collector returns the Collector's configuration with an exporter and operators of the receiver.
func collector(exporter, operators string) string {
	return strings.NewReplacer("EXPORTER", exporter, "OPERATORS", operators).Replace(collectorInput)
}

const telegrafInput = `
[agent]
  flush_interval = "1s"
[[inputs.tail]]
  files = ["DIR/in.log"]
  initial_read_offset = "beginning"
  data_format = "value"
  data_type = "string"
`

// The page shows only the server's side of syslog, so these settings are in no block of it.
const (
	collectorSyslog = `
exporters:
  syslog:
    {endpoint: HOST, port: PORT, network: tcp, protocol: rfc5424, enable_octet_counting: true, tls: {insecure: true}}
`
	toMessage = "operators: [{type: move, from: body, to: attributes.message}]"
)

var collectorClients = []client{
	{
		name: "otlphttp", table: "app", mark: markInBody, at: "timestamp", columns: `body LIKE 'a record%'`,
		again: itself, doubles: true, slow: true,
		send: shipper{otelcol, []string{"# otelcol.yaml", "otlphttp:"}, "BLOCK"}.send,
	},
	{
		name: "otlp", table: "app", mark: markInBody, at: "timestamp", columns: `body LIKE 'a record%'`,
		again: itself, doubles: true, slow: true,
		send: shipper{otelcol, []string{"# otelcol.yaml", "  otlp:"}, collector("otlp", "")}.send,
	},
	{
		name: "syslog", table: "syslog", mark: markInText, columns: `message LIKE 'a record%' AND severity = 'notice'`,
		again: nobody, at: "now()", // records in flight are lost when a server is killed; the lines have no times
		send: shipper{otelcol, nil, collector("syslog", toMessage) + collectorSyslog}.send,
	},
}

var telegrafClients = []client{
	{
		name: "loki", table: "app", mark: markInLine,
		columns: `"__name" = 'tail' AND line LIKE 'value="a record%' AND host <> ''`,
		again:   itself, doubles: true, slow: true,
		send: shipper{telegraf, []string{"[[outputs.loki]]"}, telegrafInput + "BLOCK"}.send,
	},
	{
		name: "elasticsearch", table: "app", mark: `regexp_extract("tail.value", 'mark=(\d+)', 1)`,
		columns: `"tail.value" LIKE 'a record%' AND measurement_name = 'tail' AND "tag.host" <> ''`, again: itself,
		slow: true, doubles: true, // Telegraf sends a batch again together with newer records
		send: shipper{telegraf, []string{"[[outputs.elasticsearch]]"}, telegrafInput + "BLOCK"}.send,
	},
}

// send starts the program and writes a line for each mark. The program runs until the test ends, because it does not
// report when it has sent the lines.
func (p shipper) send(s *server, j job) error {
	dir := s.t.TempDir()
	output := ""
	if p.texts != nil {
		output = block(s.t, p.texts...)
	}
	host, port := hostAndPort(s.t, s.syslog)
	settings := strings.NewReplacer("/var/lib/otelcol", filepath.Join(dir, "state"),
		"/var/log/app/*.log", filepath.Join(dir, "in.log"), "storage: file_storage}\nexp", "start_at: beginning}\nexp",
		"127.0.0.1:4000", s.users, "127.0.0.1:4317", s.calls, "127.0.0.1:9200", s.elasticsearch, "DIR", dir,
		"HOST", host, "PORT", port).Replace(strings.Replace(p.settings, "BLOCK", output, 1))
	file := filepath.Join(dir, "settings")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return err
	}
	lines, err := os.Create(filepath.Join(dir, "in.log"))
	if err != nil {
		return err
	}
	defer lines.Close()
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.Command(p.program[0], append(p.program[1:len(p.program):len(p.program)], file)...)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if s.t.Failed() {
			text, _ := os.ReadFile(said.Name())
			s.t.Logf("%s said:\n%s", p.program[0], text)
		}
	})
	j.marks(func(mark int) {
		if err == nil {
			_, err = lines.WriteString(marks(mark, mark+1))
		}
	})
	return err
}

// TestCollector sends the lines of a file with the OpenTelemetry Collector.
func TestCollector(t *testing.T) {
	needCollector(t)
	run(t, collectorClients, nil)
}

// TestTelegraf sends the lines of a file with Telegraf.
func TestTelegraf(t *testing.T) {
	needTelegraf(t)
	run(t, telegrafClients, nil)
}
