package clients

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// block returns the code block of docs/ingestion.md that contains all of the texts.
func block(t testing.TB, texts ...string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ingestion.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "\n```")
next:
	for i := 1; i < len(parts); i += 2 { // text between code blocks has even indexes
		_, code, _ := strings.Cut(parts[i], "\n")
		for _, text := range texts {
			if !strings.Contains(code, text) {
				continue next
			}
		}
		return code
	}
	t.Fatalf("docs/ingestion.md has no block with %q", texts)
	return ""
}

// hostAndPort returns the parts of an address.
func hostAndPort(t testing.TB, address string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// recipe is a code block of the page, completed to a program.
type recipe struct {
	name string
	// texts identify the block.
	texts []string
	// before and after are the rest of the program. NUMBER is the number of records to send.
	before, after string
	env           bool // the block sets environment variables
	table, marks  string
}

const loop = "for (let mark = 0; mark < NUMBER; mark++) "

var nodeRecipes = []recipe{
	{
		name: "pino-loki", texts: []string{"target: 'pino-loki'"}, table: "app", marks: "line->>'mark'",
		before: "const pino = require('pino')\n",
		after:  loop + "logger.info({ mark }, 'a record')\nsetTimeout(() => process.exit(), 8000)\n", // its batches take 5 s
	},
	{
		name: "splunk-logging", texts: []string{"require('splunk-logging')"}, table: "web", marks: `"event.message.mark"`,
		after: loop + "logger.send({ message: { mark }, metadata: { index: 'web' } })\n",
	},
}

var pythonRecipes = []recipe{
	{
		name: "elasticsearch", texts: []string{"from elasticsearch import"}, table: "shop", marks: "message",
		before: "import sys, elasticsearch9, elasticsearch9.helpers\nsys.modules['elasticsearch'] = elasticsearch9\n",
		after: "helpers.bulk(client, ({\"_index\": \"shop\", \"_source\": {\"message\": str(mark)}} " +
			"for mark in range(NUMBER - 2)))\n",
	},
	{
		name: "datadog", texts: []string{"from datadog_api_client import"}, table: "datadog_logs", marks: "message",
		after: "with ApiClient(configuration) as client:\n    LogsApi(client).submit_log(HTTPLog([" +
			"HTTPLogItem(message=str(mark)) for mark in range(NUMBER - 1)]), content_encoding='gzip')\n",
	},
	{
		name: "variables of OpenTelemetry", texts: []string{"LOGS_PROTOCOL=http/protobuf"}, env: true, table: "app",
		marks:  markOfOTLP,
		before: "from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter\n", after: emitPython,
	},
	{
		name: "variables of OpenTelemetry by gRPC", texts: []string{"LOGS_PROTOCOL=grpc"}, env: true,
		table: "opentelemetry_logs", marks: markOfOTLP,
		before: "from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter\n", after: emitPython,
	},
}

const emitPython = `import logging
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
provider = LoggerProvider()
provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
logging.getLogger().addHandler(LoggingHandler(logger_provider=provider))
for mark in range(NUMBER):
    logging.getLogger().warning("a record", extra={"mark": mark})
provider.shutdown()
`

// try runs code blocks of the page, with the address of a test server in place of the block's address.
func try(t *testing.T, recipes []recipe, dir, name, interpreter string) {
	for _, r := range recipes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			const number = 500
			text := strings.NewReplacer("127.0.0.1:4000", s.users, "127.0.0.1:4317", s.calls).Replace(block(t, r.texts...))
			env := os.Environ()
			if r.env {
				env = append(env, strings.Fields(text)...)
				text = ""
			}
			text = strings.ReplaceAll(r.before+text+"\n"+r.after, "NUMBER", fmt.Sprint(number))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			file, err := os.CreateTemp(dir, "page-*-"+name) // a program finds its packages relative to its folder
			if err != nil {
				t.Fatal(err)
			}
			defer os.Remove(file.Name())
			defer file.Close()
			if _, err := file.WriteString(text); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(ctx, interpreter, file.Name())
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s.await(fmt.Sprintf("SELECT count(*) >= %d, count(DISTINCT %s) >= %d FROM %s", number, r.marks, number, r.table),
				"true", "true")
		})
	}
}

// TestPageNode runs the code blocks of docs/ingestion.md for Node.js.
func TestPageNode(t *testing.T) {
	needNode(t)
	try(t, nodeRecipes, "node", "program.cjs", "node")
}

// TestPagePython runs the code blocks of docs/ingestion.md for Python, and those for all of OpenTelemetry's SDKs.
func TestPagePython(t *testing.T) {
	needPython(t)
	try(t, pythonRecipes, "python", "program.py", filepath.Join("python", "venv", "bin", "python"))
}
