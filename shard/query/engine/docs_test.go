package engine

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestDocs runs the examples of docs/sql.md. An example with "error: …" in its fence must fail with
// that text. Every other example must return something.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampNanosecond", "host:String", "status:Int64", "took:Float64",
		"message:String", "extra:Json")
	now := time.Now().Add(-time.Minute).UnixNano()
	tab := table("logs", columns, batch(t, columns,
		[]any{now, "web-1", 200, 0.5, "Connection refused by peer", `{"user":"ann","size":7}`},
		[]any{now + 1e9, "web-2", 503, 1.5, "read timeout, took 300 ms", nil},
		[]any{now + 2e9, "web-1", 500, 2.5, "disk full", nil},
	))
	examples := strings.Split(string(page), "```sql")
	if len(examples) < 12 {
		t.Fatalf("%d examples", len(examples)-1)
	}
	for _, part := range examples[1:] {
		head, rest, _ := strings.Cut(part, "\n")
		sql, _, _ := strings.Cut(rest, "```")
		a, err := ask(e, sql, tab)
		if want, fails := strings.CutPrefix(strings.TrimSpace(head), "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want …%s…", sql, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if len(a.rows) == 0 {
			t.Errorf("%s: no rows", sql)
		}
	}
}

// TestNaNInMaps checks what docs/sql.md says about NaN in histogram and mode. Change both when DuckDB counts NaN.
func TestNaNInMaps(t *testing.T) {
	e := openEngine(t, t.TempDir())
	const from = " FROM (VALUES (1.0::DOUBLE), ('NaN'::DOUBLE), (2.0), ('NaN'::DOUBLE), (3.0)) v(x)"
	for sql, want := range map[string]string{
		"SELECT histogram(x)::VARCHAR" + from:                                   "{1.0=3, 2.0=1, 3.0=1}",
		"SELECT (histogram(x) FILTER (WHERE NOT isnan(x)))::VARCHAR" + from:     "{1.0=1, 2.0=1, 3.0=1}",
		"SELECT list_histogram(list(x))::VARCHAR, list_unique(list(x))" + from:  "{1.0=3, 2.0=1, 3.0=1}|5",
		"SELECT mode(x), count(DISTINCT x), approx_top_k(x, 1)::VARCHAR" + from: "1|4|[nan]",
	} {
		got, err := ask(e, sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if text := strings.Join(got.rows, " "); text != want {
			t.Errorf("%s: %s, want %s", sql, text, want)
		}
	}
}
