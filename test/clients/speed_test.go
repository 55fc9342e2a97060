package clients

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"
)

// perRequest is the number of records in a request of BenchmarkProtocols.
const perRequest = 5000

// protocols are the protocols whose cost is measured. encode encodes a request.
var protocols = []struct {
	name, path, contentType string
	table                   string
	// encode encodes JSON lines as a request. at is the number of the first line.
	encode func(lines [][]byte, at int) []byte
}{
	{"ingest", "/v1/ingest?table=native&pipeline_name=svc_identity", "application/x-ndjson", "native", ndjson},
	{"elasticsearch", "/v1/elasticsearch/_bulk", "application/x-ndjson", "bulk", bulkBody},
	{"loki", "/loki/api/v1/push", "application/x-protobuf", "loki_logs", lokiBody},
	{"otlp", "/v1/logs", "application/x-protobuf", "opentelemetry_logs", otlpBody},
}

func ndjson(lines [][]byte, _ int) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }

func bulkBody(lines [][]byte, _ int) (out []byte) {
	for _, l := range lines {
		out = append(append(append(out, `{"create":{"_index":"bulk"}}`+"\n"...), l...), '\n')
	}
	return out
}

// field appends a length-delimited field of a protobuf message.
func field(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

func lokiBody(lines [][]byte, first int) []byte {
	stream := field(nil, 1, []byte(`{app="shop", env="prod"}`))
	for i, l := range lines {
		at := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1_764_200_000)
		at = protowire.AppendVarint(protowire.AppendTag(at, 2, protowire.VarintType), uint64(first+i))
		stream = field(stream, 2, field(field(nil, 1, at), 2, l))
	}
	return s2.EncodeSnappy(nil, field(nil, 1, stream))
}

// withAttribute appends an attribute with a string value.
func withAttribute(to []byte, number protowire.Number, name, value string) []byte {
	return field(to, number, field(field(nil, 1, []byte(name)), 2, field(nil, 1, []byte(value))))
}

func otlpBody(lines [][]byte, first int) []byte {
	scope := field(nil, 1, field(nil, 1, []byte("shop.http")))
	for i, l := range lines {
		at := uint64(1_764_200_000_000_000_000 + first + i)
		record := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), at)
		record = protowire.AppendVarint(protowire.AppendTag(record, 2, protowire.VarintType), 9)
		record = field(field(record, 3, []byte("INFO")), 5, field(nil, 1, l))
		record = withAttribute(withAttribute(record, 6, "http.method", "GET"), 6, "http.route", "/cart/{id}")
		record = field(field(record, 9, []byte("0123456789abcdef")), 10, []byte("01234567"))
		scope = field(scope, 2, record)
	}
	resource := field(nil, 1, withAttribute(withAttribute(nil, 1, "service.name", "shop"), 1, "host.name", "web-1"))
	return field(nil, 1, field(resource, 2, scope))
}

// BenchmarkProtocols sends the JSON lines of the file LINES_FILE over each protocol. It reports how many lines the
// server stores per second of CPU time.
func BenchmarkProtocols(b *testing.B) {
	data, err := os.ReadFile(os.Getenv("LINES_FILE"))
	if err != nil {
		b.Skip("set LINES_FILE to a file with JSON lines")
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	lines = lines[:len(lines)/perRequest*perRequest]
	for _, d := range protocols {
		b.Run(d.name, func(b *testing.B) {
			s := start(b)
			before := cpuSeconds(b, s.cmd.Process.Pid)
			rows := 0
			for b.Loop() {
				for from := 0; from < len(lines); from += perRequest {
					body := d.encode(lines[from:from+perRequest], rows) // times ascend, as in real logs
					resp, err := http.Post("http://"+s.users+d.path, d.contentType, bytes.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					answer, err := io.ReadAll(resp.Body) // real clients read it all, and keep the connection
					if err != nil {
						b.Fatal(err)
					}
					_ = resp.Body.Close()
					if resp.StatusCode/100 != 2 {
						b.Fatalf("%s: %.200s", resp.Status, answer)
					}
					rows += perRequest
				}
			}
			took := cpuSeconds(b, s.cmd.Process.Pid) - before
			if got, err := s.query("SELECT count(*) FROM " + d.table); err != nil || got[0] != strconv.Itoa(rows) {
				b.Fatalf("%v rows of %d: %v", got, rows, err)
			}
			b.ReportMetric(float64(rows)/took, "records/cpu-s")
		})
	}
}

// cpuSeconds returns the CPU time of a process.
func cpuSeconds(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return float64(ticks) / 100
}

// BenchmarkSyslog sends RFC 5424 messages over one connection until all are stored. It reports how many messages the
// server stores per second of CPU time.
func BenchmarkSyslog(b *testing.B) {
	const messages = 500_000
	var lines []byte
	for i := range messages {
		lines = fmt.Appendf(lines, "<134>1 2026-11-27T10:00:%02d.%06dZ web-%d nginx %d access [origin@1 ip=\"10.0.0.%d\"] "+
			"GET /cart/%d HTTP/1.1 200 %d 0.0%d\n", i/10_000, i%10_000, i%12, 1000+i%7, i%250, i%5000, 100+i%900, i%99)
	}
	s := start(b)
	before := cpuSeconds(b, s.cmd.Process.Pid)
	rows := 0
	for b.Loop() {
		conn, err := net.Dial("tcp", s.syslog)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Write(lines); err != nil {
			b.Fatal(err)
		}
		_ = conn.Close()
		rows += messages
		s.await("SELECT count(*) FROM syslog", strconv.Itoa(rows))
	}
	took := cpuSeconds(b, s.cmd.Process.Pid) - before
	b.ReportMetric(float64(rows)/took, "records/cpu-s")
}
