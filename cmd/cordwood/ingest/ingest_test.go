package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/cli/clitest"
	"cordwood/cmd/cordwood/client"
)

// received is a batch as the server received it.
type received struct {
	query, contentType, body string
}

// ingestServer counts lines or values as rows. It refuses a batch that contains "bad", and skips a
// record of a batch that contains "skip".
func ingestServer(t *testing.T) (*httptest.Server, func() []received) {
	t.Helper()
	var mu sync.Mutex
	var batches []received
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("bad")) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":1004,"error":"a record is bad"}`)
			return
		}
		rows, reasons := bytes.Count(body, []byte("\n")), ""
		if r.Header.Get("Content-Type") == "application/json" {
			var values []any
			if err := json.Unmarshal(body, &values); err != nil {
				t.Errorf("batch is not an array: %v: %.200s", err, body)
			}
			rows = len(values)
		}
		for range bytes.Count(body, []byte("twice")) {
			w.Header().Add("x-svc-warnings", "1 key occurred more than once")
		}
		if n := bytes.Count(body, []byte("drop")); n > 0 {
			rows -= n
			w.Header().Set("x-svc-dropped", fmt.Sprint(n))
		}
		if n := bytes.Count(body, []byte("skip")); n > 0 {
			rows -= n
			w.Header().Set("x-svc-skipped", fmt.Sprint(n))
			index := bytes.Count(body[:bytes.Index(body, []byte("skip"))], []byte("\n"))
			reasons = strings.Repeat(fmt.Sprintf(`,{"index":%d,"kind":"type","error":"no good"}`, index), min(n, 10))[1:]
		}
		mu.Lock()
		batches = append(batches, received{r.URL.RawQuery, r.Header.Get("Content-Type"), string(body)})
		mu.Unlock()
		fmt.Fprintf(w, `{"output":[{"affectedrows":%d}],"skipped":{"reasons":[%s]},"execution_time_ms":1}`, rows, reasons)
	}))
	t.Cleanup(s.Close)
	return s, func() []received {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(batches)
	}
}

func gzipped(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, data string) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll([]byte(data), nil)
}

func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"n\":%d,\"m\":\"something happened\"}\n", i)
	}
	return b.String()
}

func TestIngest(t *testing.T) {
	lines := manyLines(1000)
	for _, tt := range []struct {
		name        string
		file        []byte
		flags       []string
		contentType string
		rows        int
		want        string // all batches joined, if their order is fixed
	}{
		{"ndjson", []byte(lines), nil, "application/x-ndjson", 1000, lines},
		{"gzip", gzipped(t, lines), nil, "application/x-ndjson", 1000, lines},
		{"zstd", zstded(t, lines), nil, "application/x-ndjson", 1000, lines},
		{
			"two gzip members", append(gzipped(t, lines), gzipped(t, lines)...), nil, "application/x-ndjson", 2000,
			lines + lines,
		},
		{"byte order mark", []byte("\xef\xbb\xbf" + lines), nil, "application/x-ndjson", 1000, lines},
		{"text", []byte("one\ntwo\n"), nil, "text/plain", 2, "one\ntwo\n"},
		{"bracketed text", []byte("[error] one\n[info] two\n"), nil, "text/plain", 2, "[error] one\n[info] two\n"},
		{"numbers in brackets", []byte("[12]: closed\n"), nil, "text/plain", 1, "[12]: closed\n"},
		{
			"array", []byte(`[{"a":1}, {"b":"]}\""},` + "\n" + `{"c":[1,{}]}]`), nil, "application/json", 3,
			`[{"a":1},{"b":"]}\""},{"c":[1,{}]}]`,
		},
		{"pretty object", []byte("{\n \"a\": 1\n}\n{\"b\":2}"), nil, "application/json", 2, "[{\n \"a\": 1\n},{\"b\":2}]"},
		{"forced text", []byte("{\"a\":1}\n"), []string{"--format", "text"}, "text/plain", 1, "{\"a\":1}\n"},
		{"empty", nil, nil, "", 0, ""},
		{"empty array", []byte(" [ ] "), nil, "", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, batches := ingestServer(t)
			path := clitest.WriteFile(t, "data", tt.file)
			args := append([]string{
				"ingest", path, "--server", s.URL, "--table", "t", "--parallel", "1", "--batch", "2KiB",
			}, tt.flags...)
			stdout, stderr, err := execute(t, "", args...)
			if err != nil {
				t.Fatal(err)
			}
			joined := ""
			for _, b := range batches() {
				joined += b.body
				if b.contentType != tt.contentType {
					t.Errorf("sent as %s", b.contentType)
				}
				if len(b.body) > 2<<10+100 {
					t.Errorf("a batch of %d bytes", len(b.body))
				}
			}
			if joined != tt.want {
				t.Errorf("sent %.300q", joined)
			}
			if want := cli.Count(tt.rows, "row") + " written, 0 skipped, "; !strings.HasPrefix(stdout, want) || stderr != "" {
				t.Errorf("printed %q, %q", stdout, stderr)
			}
		})
	}
}

func TestIngestInParallelFromManyFiles(t *testing.T) {
	s, batches := ingestServer(t)
	a, b := clitest.WriteFile(t, "a", []byte(manyLines(3000))), clitest.WriteFile(t, "b.gz", gzipped(t, manyLines(2000)))
	stdout, _, err := execute(t, "{\"x\":1}", "ingest", a, b, "-", "--server", s.URL, "--table", "t", "--batch", "4k",
		"--parallel", "4",
		"--db", "shop", "--pipeline", "p", "--pipeline-version", "v", "--skip-error", "--on-reject", "store",
		"--custom-time-index", "ts;datestr;%Y-%m-%d %z")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stdout, "5001 rows written, 0 skipped, ") {
		t.Errorf("printed %q", stdout)
	}
	var got []string
	want := "custom_time_index=ts%3Bdatestr%3B%25Y-%25m-%25d+%25z&db=shop&on_reject=store&pipeline_name=p&skip_error=tru" +
		"e&table=t&version=v"
	for _, b := range batches() {
		if b.query != want {
			t.Fatalf("query %s", b.query)
		}
		got = append(got, strings.SplitAfter(b.body, "\n")...)
	}
	expected := strings.SplitAfter(manyLines(3000)+manyLines(2000)+"[{\"x\":1}]", "\n")
	got = slices.DeleteFunc(got, func(s string) bool { return s == "" })
	slices.Sort(got)
	slices.Sort(expected)
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Error(diff)
	}
}

// TestIngestManyFiles sends far more files than there are buffers: each file must release its last buffer.
func TestIngestManyFiles(t *testing.T) {
	var files, want []string
	for i := range 50 {
		text := fmt.Sprintf("{\"file\":%d,\"n\":1}\n{\"file\":%d,\"n\":2}\n", i, i)
		content, name := []byte(text), fmt.Sprintf("%d.ndjson", i)
		switch {
		case i == 20:
			content, text = nil, ""
		case i == 30:
			content = content[:len(content)-1]
		case i%2 == 1:
			content, name = gzipped(t, text), name+".gz"
		}
		files = append(files, clitest.WriteFile(t, name, content))
		for line := range strings.Lines(text) {
			want = append(want, strings.TrimSuffix(line, "\n"))
		}
	}
	ingest := func(files []string) (stdout string, sent []string, err error) {
		t.Helper()
		s, batches := ingestServer(t)
		type result struct {
			stdout string
			err    error
		}
		done := make(chan result, 1)
		go func() {
			stdout, _, err := execute(t, "",
				append([]string{"ingest", "--server", s.URL, "--table", "t", "--parallel", "2"}, files...)...)
			done <- result{stdout, err}
		}()
		select {
		case r := <-done:
			stdout, err = r.stdout, r.err
		case <-time.After(30 * time.Second):
			t.Fatal("the command hangs")
		}
		for _, b := range batches() {
			sent = append(sent, strings.Split(strings.TrimSuffix(b.body, "\n"), "\n")...)
		}
		slices.Sort(sent)
		return stdout, sent, err
	}
	slices.Sort(want)
	stdout, sent, err := ingest(files)
	if err != nil || !strings.HasPrefix(stdout, "97 rows written, 0 skipped, ") { // the server counts line ends
		t.Errorf("printed %q, %v", stdout, err)
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}

	// A file that cannot be opened is reported before anything is sent.
	for _, name := range []string{"/no/such/file", t.TempDir()} {
		_, sent, err := ingest(slices.Insert(slices.Clone(files), 40, name))
		if err == nil || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), "nothing was sent") ||
			strings.Count(err.Error(), name) != 1 || len(sent) > 0 {
			t.Errorf("%s: %v, sent %d records", name, err, len(sent))
		}
	}
	// A damaged file is reported; the batches before the damage stay stored.
	broken := clitest.WriteFile(t, "broken.gz", gzipped(t, manyLines(100))[:100])
	_, sent, err = ingest(slices.Insert(slices.Clone(files), 40, broken))
	if err == nil || !strings.Contains(err.Error(), broken+": ") || len(sent) < 70 {
		t.Errorf("%v, sent %d records", err, len(sent))
	}
}

func TestIngestNamesTheLine(t *testing.T) {
	for _, tt := range []struct{ unit, reason, want string }{
		{"lines", "invalid JSON at index: 3: unexpected character 'b'", "app.log, line 104"},
		{"lines", "invalid line at index: 0: it is not valid UTF-8", "app.log, line 101"},
		{"lines", "record 3: column n: expected Int64", "app.log, lines 101-200"},
		{"records", "invalid JSON at index: 3: unexpected character 'b'", "app.log, records 101-200"},
	} {
		p := piece{chunk: chunk{first: 101, last: 200}, file: "app.log", unit: tt.unit}
		if got := p.where(&client.Error{Status: 400, Code: 1004, Msg: tt.reason}); got != tt.want {
			t.Errorf("%s, %s: %s", tt.unit, tt.reason, got)
		}
	}
	p := piece{chunk: chunk{first: 101, last: 200}, file: "app.log", unit: "lines", format: FormatNDJSON}
	if err := p.located(&client.Error{Status: 400, Msg: "invalid JSON at index: 1: x; if the lines are text, send them " +
		"as text/plain"}); err.Error() !=
		"app.log, line 102: invalid JSON at index: 1: x; if the lines are text, use --format text (server answered 400)" {
		t.Errorf("a line of text: %v", err)
	}
	for _, tt := range []struct {
		format InputFormat
		data   string
		want   string
	}{
		{FormatText, "a\n\r\n \nb\n", "app.log, line 14: no good (server answered 400, code 1004)"},
		{FormatNDJSON, "{}\n\n{}\n \n{}\n", "app.log, line 15: no good (server answered 400, code 1004)"},
		{formatJSON, "[{},{},{},{}]", "app.log, record 13: no good (server answered 400, code 1004)"},
		{FormatText, "a\n", "app.log, record 3 of lines 11-20: no good (server answered 400, code 1004)"},
	} {
		p := piece{
			chunk: chunk{Data: []byte(tt.data), first: 11, last: 20}, file: "app.log", unit: "lines", format: tt.format,
		}
		err := p.located(&client.Error{Status: 400, Code: 1004, Msg: "record 2: no good"})
		if answer := (*client.Error)(nil); err.Error() != tt.want || !errors.As(err, &answer) {
			t.Errorf("%q: %v, want %s", tt.data, err, tt.want)
		}
	}
}

func TestIngestReports(t *testing.T) {
	s, _ := ingestServer(t)
	skips := clitest.WriteFile(t, "skips", []byte("fine\nskip\n"))
	stdout, stderr, err := execute(t, "", "ingest", skips, "--server", s.URL, "--table", "t", "--skip-error")
	if err != nil || !strings.HasPrefix(stdout, "1 row written, 1 skipped, ") ||
		!strings.Contains(stderr, "skips, line 2: no good\n") {
		t.Errorf("printed %q, %q, %v", stdout, stderr, err)
	}
	many := clitest.WriteFile(t, "many.ndjson", []byte("{\"a\":1}\n\n{\"skip\":1}\n"+strings.Repeat("{\"skip\":1}\n", 7)))
	stdout, stderr, err = execute(t, "", "ingest", many, "--server", s.URL, "--table", "t", "--skip-error",
		"--format", "ndjson")
	if err != nil || strings.Count(stderr, "skipped: ") != 6 || !strings.HasSuffix(stderr, "skipped: and 3 more\n") ||
		!strings.Contains(stderr, ": no good\n") {
		t.Errorf("printed %q, %q, %v", stdout, stderr, err)
	}
	piece := piece{
		chunk:  chunk{Data: []byte("{}\n\n  \n{}\n{}\n"), first: 10, last: 14},
		unit:   "lines",
		format: FormatNDJSON,
	}
	if got := []string{piece.record(0), piece.record(1), piece.record(2), piece.record(3)}; !slices.Equal(got, []string{
		"line 10", "line 13", "line 14", "record 4 of lines 10-14",
	}) {
		t.Errorf("records are %q", got)
	}
	warns := clitest.WriteFile(t, "warns", []byte(strings.Repeat("fine\ntwice\n", 4)+"twice\ntwice\ntwice\n"))
	stdout, stderr, err = execute(t, "", "ingest", warns, "--server", s.URL, "--table", "t")
	if err != nil || !strings.HasPrefix(stdout, "11 rows written, 0 skipped, ") ||
		strings.Count(stderr, "warning: "+warns+", lines 1-11: 1 key occurred more than once\n") != 5 ||
		!strings.Contains(stderr, "warning: the answers to batches had 2 more warnings like these\n") {
		t.Errorf("printed %q, %q, %v", stdout, stderr, err)
	}
	bad := clitest.WriteFile(t, "bad.txt", []byte(strings.Repeat("fine\n", 1000)+"bad\n"))
	stdout, _, err = execute(t, "", "ingest", bad, "--server", s.URL, "--table", "t", "--batch", "1KiB", "--parallel", "1")
	if err == nil || !strings.Contains(err.Error(),
		"bad.txt, lines 821-1001: a record is bad (server answered 400, code 1004)") {
		t.Errorf("got %v", err)
	}
	if !strings.HasPrefix(stdout, "820 rows written, 0 skipped, ") {
		t.Errorf("printed %q", stdout)
	}
	for name, content := range map[string]string{
		"the file ends within a value":     `[{"a":1},{"b":`,
		"the file ends within an array":    `[{"a":1}`,
		`record 2: unexpected '}'`:         `{"a":1}}`,
		`record 2: unexpected '{'`:         `[{"a":1} {"b":2}]`,
		`record 1: unexpected ','`:         `[,{"b":2}]`,
		`record 3: unexpected ']'`:         `[{"a":1},{},]`,
		`record 1: the file ends within a`: `"abc`,
	} {
		path := clitest.WriteFile(t, "x.json", []byte(content))
		if _, _, err := execute(t, "", "ingest", path, "--server", s.URL, "--table", "t", "--format", "json"); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", content, err)
		}
	}
	broken := clitest.WriteFile(t, "x.gz", gzipped(t, manyLines(100))[:100])
	if _, _, err := execute(t, "", "ingest", broken, "--server", s.URL, "--table", "t"); err == nil ||
		!strings.Contains(err.Error(), "x.gz: ") {
		t.Errorf("got %v", err)
	}
	if _, _, err := execute(t, "", "ingest", "/no/such/file", "--server", s.URL, "--table", "t"); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestIngestRefusesGarbage checks that a file is refused before any of it is sent if its content does not match the
// extension of its name, or is not text.
func TestIngestRefusesGarbage(t *testing.T) {
	garbage := append([]byte("\x89PNG\r\n"), make([]byte, 3000)...)
	for name, content := range map[string][]byte{
		"x.log.gz": []byte("plain text\n"), "y.GZ": garbage, "z.zst": gzipped(t, "a\n"), "binary.log": garbage,
		"packed.gz": gzipped(t, string(garbage)),
	} {
		sent := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent++
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"output":[{"affectedrows":1}]}`)
		}))
		path := clitest.WriteFile(t, name, content)
		_, _, err := execute(t, "", "ingest", path, "--server", s.URL, "--table", "t")
		if err == nil || !strings.Contains(err.Error(), "--force") || !strings.Contains(err.Error(), name) || sent > 0 {
			t.Errorf("%s: %v, %d requests", name, err, sent)
		}
		if _, _, err := execute(t, "", "ingest", path, "--server", s.URL, "--table", "t", "--force"); err != nil ||
			sent == 0 {
			t.Errorf("%s with --force: %v, %d requests", name, err, sent)
		}
		s.Close()
	}
}

// TestIngestSuggestsText ingests lines of text as JSON: nothing is sent, and the error contains the right format.
func TestIngestNamesText(t *testing.T) {
	sent := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent++
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"output":[{"affectedrows":1}]}`)
	}))
	defer s.Close()
	for _, content := range []string{
		"Nov 24 07:10:01 host app[12]: hello\n", "\n  <13>1 2026-11-24T07:10:01Z host app - - - hello", "yes",
		"\ufefflevel=info msg=hello\n",
	} {
		for _, format := range []string{"json", "ndjson"} {
			file := clitest.WriteFile(t, "x.log", []byte(content))
			_, _, err := execute(t, "", "ingest", file, "--server", s.URL, "--table", "t",
				"--format", format)
			if err == nil || !strings.Contains(err.Error(),
				"is not JSON: if the file has lines of text, send it with --format text") {
				t.Errorf("%q as %s: %v", content, format, err)
			}
		}
	}
	if sent > 0 {
		t.Errorf("%d requests were sent", sent)
	}
	path := clitest.WriteFile(t, "x.log", []byte("oops\n{}\n"))
	if _, _, err := execute(t, "", "ingest", path, "--server", s.URL, "--table", "t", "--format", "ndjson",
		"--skip-error"); err != nil || sent == 0 {
		t.Errorf("with --skip-error: %v, %d requests", err, sent)
	}
}

func TestIngestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"x"},
		{"x", "--table", "t", "--format", "xml"},
		{"x", "--table", "t", "--batch", "huge"},
		{"x", "--table", "t", "--batch", "1GiB"},
		{"x", "--table", "t", "--batch", "1"},
		{"x", "--table", "t", "--parallel", "0"},
		{"x", "--table", "t", "--timeout", "soon"},
		{"x", "--table", "t", "--timeout", "1m", "--forever"},
		{"x", "--table", "t", "--on-reject", "keep"},
		{"x", "--table", "t", "--server", "ftp://x"},
		{"x", "--table", "t", "--user", "nobody"},
		{"x", "--nonsense"},
	} {
		_, _, err := execute(t, "", append([]string{"ingest"}, args...)...)
		if cli.ExitStatus(err) != cli.ExitUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
	var errOut bytes.Buffer
	if code := run([]string{"ingest", "--table", "t"}, &errOut); code != cli.ExitUsage ||
		!strings.Contains(errOut.String(), "or - for standard input, as in: some-program | cordwood ingest --table t -") {
		t.Errorf("without files: status %d, %s", code, &errOut)
	}
	if code := run([]string{"ingest", "--table", "t", "/no/such/file"}, io.Discard); code != cli.ExitFailed {
		t.Errorf("a missing file: status %d", code)
	}
}

func TestGuessFormat(t *testing.T) {
	for text, want := range map[string]InputFormat{
		"":                                FormatNDJSON,
		" \n":                             FormatNDJSON,
		"{\"a\":1}\n{\"a\":2}\n":          FormatNDJSON,
		"{\"a\":1}":                       formatJSON,
		"{\n\"a\":1}":                     formatJSON,
		"{\"a\":1} {\"b\":2}":             formatJSON,
		"[{\"a\":1}":                      formatJSON,
		"[]":                              formatJSON,
		"[\n":                             formatJSON,
		"[1,2]":                           FormatText,
		"[2024-01-01] x":                  FormatText,
		"{broken} line":                   FormatText,
		"plain":                           FormatText,
		"{\"a\":\"" + longText(peekBytes): formatJSON,
	} {
		got, err := GuessFormat(bufio.NewReaderSize(strings.NewReader(text), peekBytes))
		if err != nil || got != want {
			t.Errorf("%.40q: %d, %v", text, got, err)
		}
	}
}

func longText(n int) string { return strings.Repeat("x", n) }

func TestLongRecords(t *testing.T) {
	long := longText(200_000)
	s := NewSplitter(bufio.NewReaderSize(strings.NewReader("a\n"+long+"\nb\n"), peekBytes), FormatText)
	var sizes []string
	for {
		c, err := s.Next(nil, 1000)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, fmt.Sprintf("%d-%d:%d", c.first, c.last, len(c.Data)))
	}
	if diff := cmp.Diff([]string{"1-2:200003", "3-3:2"}, sizes); diff != "" {
		t.Error(diff)
	}
	endless := io.MultiReader(strings.NewReader("{\"a\":\""), zeros{})
	for _, format := range []InputFormat{FormatText, formatJSON} {
		s := NewSplitter(bufio.NewReaderSize(endless, peekBytes), format)
		if _, err := s.Next(nil, 1000); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
			t.Errorf("format %d: %v", format, err)
		}
	}
}

// zeros is an endless reader of the digit 0.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"4MiB": 4 << 20, "4mib": 4 << 20, "4 M": 4 << 20, "1.5KiB": 1536, "500KB": 500_000, "7": 7, "7B": 7, "1G": 1 << 30,
		"": -1, "x": -1, "-1": -1, "4XiB": -1, "1e30": -1, "MiB": -1, "NaN": -1,
	} {
		got, err := cli.ParseSize(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for n, want := range map[int64]string{5: "5 B", 2048: "2.0 KiB", 3 << 20: "3.0 MiB", 5 << 30: "5.0 GiB"} {
		if got := cli.FormatSize(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func FuzzValueSplitter(f *testing.F) {
	f.Add(`[{"a":1},{"b":"\"]"}] {"c":[1,2]}[3]`, uint16(1))
	f.Add(" 1 true\n\"x\" [[],[{}]]", uint16(100))
	f.Fuzz(func(t *testing.T, text string, target uint16) {
		var want []json.RawMessage
		d := json.NewDecoder(strings.NewReader(text))
		for {
			var v json.RawMessage
			err := d.Decode(&v)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || v[0] != '[' && v[0] != '{' {
				want = nil
				break
			}
			var elements []json.RawMessage
			if v[0] == '[' && json.Unmarshal(v, &elements) == nil {
				want = append(want, elements...)
			} else {
				want = append(want, v)
			}
		}
		s := NewSplitter(bufio.NewReader(strings.NewReader(text)), formatJSON)
		var got []json.RawMessage
		for {
			c, err := s.Next(nil, int(target)%1000+1)
			if err != nil {
				if want != nil && !errors.Is(err, io.EOF) {
					t.Fatalf("%q: %v", text, err)
				}
				break
			}
			var values []json.RawMessage
			if err := json.Unmarshal(c.Data, &values); err != nil {
				if want != nil {
					t.Fatalf("%q: batch %q: %v", text, c.Data, err)
				}
				return
			}
			got = append(got, values...)
		}
		if want == nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}

// TestProgressLine checks the progress line, including its first numbers.
func TestProgressLine(t *testing.T) {
	p := newProgress(io.Discard, 4<<20)
	p.read.Store(1 << 20)
	if got, want := p.line(time.Microsecond),
		"25 %  1.0 MiB of 4.0 MiB, 0 rows, 1.0 MiB/s, 0 rows/s, 0s left"; got != want {
		t.Errorf("at once: %s, want %s", got, want)
	}
	p.sent("/var/log/access\x1b.log", 1)
	p.sent("/var/log/access\x1b.log", 4999)
	if got, want := p.line(2*time.Second),
		"access .log  25 %  1.0 MiB of 4.0 MiB, 5000 rows, 512.0 KiB/s, 2500 rows/s, 6s left"; got != want {
		t.Errorf("after 2 s: %s, want %s", got, want)
	}
	p.read.Store(9 << 20) // the file grew
	if got := p.line(4 * time.Second); !strings.Contains(got, "100 %  4.0 MiB of 4.0 MiB") ||
		strings.Contains(got, "left") {
		t.Errorf("beyond the end: %s", got)
	}
	p = newProgress(io.Discard, -1)
	p.read.Store(3 << 10)
	if got, want := p.line(time.Second), "3.0 KiB, 0 rows, 3.0 KiB/s, 0 rows/s"; got != want {
		t.Errorf("of a pipe: %s, want %s", got, want)
	}
}

// TestIngestTellsOfCSV checks that the command warns that a CSV file is stored as lines of text, and explains how to
// get columns.
func TestIngestTellsOfCSV(t *testing.T) {
	s, _ := ingestServer(t)
	for _, tt := range []struct {
		file string
		data []byte
		more []string
		told bool
	}{
		{"a.csv", []byte("time,level\n1,info\n"), nil, true},
		{"a.TSV", []byte("time\tlevel\n1\tinfo\n"), nil, true},
		{"a.csv.gz", gzipped(t, "time,level\n1,info\n"), nil, true},
		{"a.csv", []byte("time,level\n1,info\n"), []string{"--pipeline", "mine"}, false},
		{"a.csv", []byte("{\"a\":1}\n{\"a\":2}\n"), nil, false},
		{"a.log", []byte("time,level\n1,info\n"), nil, false},
	} {
		path := clitest.WriteFile(t, tt.file, tt.data)
		_, stderr, err := execute(t, "", append([]string{"ingest", path, "--server", s.URL, "--table", "t"}, tt.more...)...)
		want := "hint: " + path + " is stored as lines of text, in the column message; to make columns of CSV, leave out " +
			"its header line and use a pipeline with the processor csv"
		if err != nil || strings.Contains(stderr, want) != tt.told {
			t.Errorf("%s %v: %q, %v", tt.file, tt.more, stderr, err)
		}
	}
	file := clitest.WriteFile(t, "a.csv", nil)
	_, _, err := execute(t, "", "ingest", file, "--server", s.URL, "--table", "t", "--format", "csv")
	if err == nil || !strings.Contains(err.Error(), "use auto, json, ndjson or text; to make columns of CSV") {
		t.Error(err)
	}
}

// TestUnknownHint checks that an unknown option of a new table is refused before anything is sent, because the server
// would create the table without it.
func TestUnknownHint(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("records were sent") }))
	defer s.Close()
	path := clitest.WriteFile(t, "a.ndjson", []byte(`{"a":1}`+"\n"))
	for hint, want := range map[string]string{"tttl=1d": `did you mean "ttl"?`, "colour=red": "append_mode, "} {
		_, _, err := execute(t, "", "ingest", "--table", "a", "--hint", hint, "--server", s.URL, path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "there is no such option") {
			t.Errorf("--hint %s: %v, want %q", hint, err, want)
		}
	}
	for _, hint := range []string{"ttl=7d", "svc_ttl=7d", "table_ttl=7d", " append_mode =false"} {
		if list, err := hintList([]string{hint}); err != nil || list != hint {
			t.Errorf("--hint %q: %q, %v", hint, list, err)
		}
	}
}

// TestIngestTimeout checks that the command gives up a batch after --timeout, and sends the timeout to
// the server.
func TestIngestTimeout(t *testing.T) {
	var limits []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limits = append(limits, r.Header.Get("X-Svc-Timeout"))
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":4008,"error":"no leader"}`)
	}))
	defer s.Close()
	_, _, err := execute(t, "{}\n", "ingest", "--table", "t", "--timeout", "20s", "--server", s.URL, "-")
	if err == nil || !strings.Contains(err.Error(), "no leader") || !slices.Equal(limits, []string{"20s"}) {
		t.Errorf("%v, limits %q", err, limits)
	}
}
