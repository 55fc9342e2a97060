package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// installed installs what a language needs to run its clients, in a folder that git ignores.
type installed struct {
	once sync.Once
	why  string // it cannot be had
}

var node, python installed

// need skips the test if the commands, one after another in a folder, fail: there is no program of that name, or no
// network. They are run once.
func (i *installed) need(t *testing.T, dir string, commands ...string) {
	t.Helper()
	i.once.Do(func() {
		for _, c := range commands {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			cmd := exec.CommandContext(ctx, "sh", "-c", c)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			cancel()
			if err != nil {
				i.why = c + ": " + err.Error() + "\n" + string(out)
				return
			}
		}
	})
	if i.why != "" {
		t.Skip("the clients cannot be installed: " + i.why)
	}
}

func needNode(t *testing.T) {
	t.Helper()
	node.need(t, "node", "npm ci --no-audit --no-fund --ignore-scripts --prefer-offline")
}

func needPython(t *testing.T) {
	t.Helper()
	python.need(t, "python", "python3 -m venv venv",
		"venv/bin/pip install -q --disable-pip-version-check -r requirements.txt")
}

// script is a client that a script of another language runs.
type script struct {
	name    string // of the client
	address func(s *server) string
	table   string // where its records are
	mark    string // the expression of their mark
	// again: it sends again what is refused, or cannot be sent.
	again bool
}

func (s *server) lokiAddr() string    { return s.loki }
func (s *server) splunkAddr() string  { return s.splunk }
func (s *server) otlpAddr() string    { return s.otlp }
func (s *server) callsAddr() string   { return s.calls }
func (s *server) datadogAddr() string { return s.datadog }
func (s *server) syslogAddr() string  { return s.syslog }
func (s *server) gelfAddr() string    { return s.gelf }
func (s *server) fluentAddr() string  { return s.forward }

const markOfOTLP = "log_attributes->>'mark'"

var nodeScripts = []script{
	{"pino-loki", (*server).lokiAddr, "pino", "line->>'mark'", false},
	{"winston-loki", (*server).lokiAddr, "loki_logs", "structured_metadata->>'mark'", false},
	{"splunk-logging", (*server).splunkAddr, "splunk_logging", `"event.message.mark"`, true},
	{"fluent-logger", (*server).fluentAddr, "fluent_logs", "mark", true},
	{"datadog-api-client", (*server).datadogAddr, "datadog_logs", "mark", false},
	{"otlp-proto", (*server).otlpAddr, "records", markOfOTLP, true},
	{"otlp-http", (*server).otlpAddr, "records", markOfOTLP, true},
	{"otlp-grpc", (*server).callsAddr, "records", markOfOTLP, true},
}

var pythonScripts = []script{
	{"datadog-api-client", (*server).datadogAddr, "datadog_logs", "mark", false},
	{"otlp-grpc", (*server).callsAddr, "records", markOfOTLP, true},
	{"otlp-http", (*server).otlpAddr, "records", markOfOTLP, true},
	{"syslog-udp", (*server).syslogAddr, "syslog", "regexp_extract(message, 'mark=(\\d+)', 1)", false},
	{"syslog-tcp", (*server).syslogAddr, "syslog", "regexp_extract(message, 'mark=(\\d+)', 1)", false},
	{"gelf-udp", (*server).gelfAddr, "gelf_logs", "mark", false},
	{"gelf-tcp", (*server).gelfAddr, "gelf_logs", "mark", false},
	{"fluent-logger", (*server).fluentAddr, "fluent_logs", "mark", false},
}

// send has the client send the records with the marks from first to last.
func (c script) send(s *server, program []string, first, last int) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	args := append(program[1:len(program):len(program)], c.name, strconv.Itoa(first), strconv.Itoa(last), c.address(s))
	cmd := exec.CommandContext(ctx, program[0], args...)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_LOGS_HEADERS=x-svc-log-table-name=records",
		"OTEL_EXPORTER_OTLP_LOGS_TIMEOUT=30000")
	if strings.Contains(program[0], "python") {
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT=30") // there it is seconds
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Logf("%s said:\n%s", c.name, out)
	}
	return err
}

// run sends by each client, once to a server that runs, and if the client sends again also to one that is started
// meanwhile.
func run(t *testing.T, scripts []script, program ...string) {
	for _, c := range scripts {
		t.Run(c.name, func(t *testing.T) {
			s := start(t)
			if err := c.send(s, program, 0, Records); err != nil {
				t.Fatal(err)
			}
			s.check(c.table, c.mark)
		})
		if !c.again {
			continue
		}
		t.Run(c.name+"/restart", func(t *testing.T) {
			s := start(t)
			if err := c.send(s, program, 0, Records/2); err != nil {
				t.Fatal(err)
			}
			s.end(syscall.SIGTERM)
			done := make(chan error, 1)
			go func() { done <- c.send(s, program, Records/2, Records) }()
			s.run()
			if err := <-done; err != nil {
				t.Error(err)
			}
			s.check(c.table, c.mark)
		})
	}
}

func TestNode(t *testing.T) {
	needNode(t)
	run(t, nodeScripts, "node", filepath.Join("node", "send.mjs"))
}

func TestPython(t *testing.T) {
	needPython(t)
	run(t, pythonScripts, filepath.Join("python", "venv", "bin", "python"), filepath.Join("python", "send.py"))
}
