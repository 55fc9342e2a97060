package translate

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/loki/logql"
)

var update = flag.Bool("update", false, "write testdata/golden.txt again")

// pushed is the table of the push API, with an additional column that is not a label.
func pushed() *schema.Table {
	return (&schema.Table{Database: "public", Name: "loki_logs", Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{Name: "line", Type: schema.String, Semantic: schema.Field},
		{Name: "structured_metadata", Type: schema.JSON, Semantic: schema.Field},
		{Name: "app", Type: schema.String, Semantic: schema.Tag},
		{Name: "http.code", Type: schema.Int64, Semantic: schema.Field},
	}}).Index()
}

// app is a table with a level, but no column for the line.
func app() *schema.Table {
	return (&schema.Table{Database: "public", Name: "app", Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampMicrosecond, Semantic: schema.Timestamp},
		{Name: "level", Type: schema.String, Semantic: schema.Field},
		{Name: "user.id", Type: schema.Int64, Semantic: schema.Field},
		{Name: "table", Type: schema.String, Semantic: schema.Field},
	}}).Index()
}

// searched is a table whose line has a fulltext index.
func searched() *schema.Table {
	return (&schema.Table{Database: "public", Name: "searched", Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{
			Name: "line", Type: schema.String, Semantic: schema.Field,
			Index: &schema.Index{Kind: schema.FulltextIndex},
		},
	}}).Index()
}

// golden are the queries whose SQL is in testdata/golden.txt.
var golden = []string{
	`{app="web"}`,
	`{app!="", service_name="web", http_code="500"}`,
	`{app=~"web|api", table=~"loki.*"}`,
	`{app=~"w.b"} |= "it's" != "a" or "b" |~ "(?i)Err" !~ "x.y" |> "<_>a.b<_>"`,
	`{app="web", detected_level="error"} | trace_id="1"`,
	`{app="web"} | json | status="500" and took > 250ms or size >= 10KB`,
	`{app="web"} | json x="a.b[0]" | x != "" | app_extracted="y"`,
	`{app="web"} | json | app_extracted="y"`,
	`{app="web"} | logfmt --strict | level=~"e.*" | __error__=""`,
	"{app=\"web\"} | regexp `(?P<ip>\\S+) (?P<who>\\S+)` | who=\"bob\"",
	`{app="web"} | pattern "<ip> - <who> [<_>" | who="bob"`,
	`{app="web"} | unpack |= "x"`,
	`{app="web"} | line_format "{{.app | ToUpper}}: {{__line__}}" |= "WEB" | label_format x="{{.app}}" | x="web"`,
	`{app="web"} | drop app | app="" | keep y | trace_id=""`,
	`count_over_time({app="web"}[1m])`,
	`sum by (status) (rate({app="web"} | json [5m]))`,
	`avg_over_time({app="web"} | logfmt | unwrap duration(took) | __error__="" [90s]) by (app)`,
	`quantile_over_time(0.9, {app="web"} | unwrap http_code [5m]) by ()`,
	`last_over_time({app="web"} | unwrap bytes(size) [30s] offset 1h) by ()`,
	`{table="app"} |= "x" | detected_level="error" | user_id="7" | table_="y"`,
	`{table="searched"} |= "the connection refused by" |= "needle" != "a b c" or " d " |= "x" or "[500] GET"`,
	`{table="searched"} | line_format "x" |= " y "`,
}

// TestGolden compares the SQL of queries with the reviewed SQL in the golden file.
func TestGolden(t *testing.T) {
	var b strings.Builder
	tables := []*Table{NewTable(pushed()), NewTable(app()), NewTable(searched())}
	steps := Steps{Start: 1_700_000_000_000_000_000, Step: int64(time.Minute), N: 5}
	for _, text := range golden {
		e, err := logql.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		b.WriteString(text + "\n")
		for _, table := range tables {
			switch e := e.(type) {
			case *logql.Log:
				if !table.Admits(e.Matchers) {
					continue
				}
				q, err := table.Compile(e)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				b.WriteString("  " + table.Def.Name + ": " + strings.Join(q.Where(), "\n    AND ") + "\n")
			case logql.Metric:
				r, g := rangeIn(e)
				if !table.Admits(r.Log.Matchers) {
					continue
				}
				s, err := table.Samples(r, g, steps)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				b.WriteString("  " + table.Def.Name + ": " + s.SQL + "\n")
			}
		}
		b.WriteString("\n")
	}
	const path = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(b.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d of %s is %s, and now %s; read it, then -update", i+1, path, line, got[min(i, len(got)-1)])
		}
	}
}

// rangeIn returns the range of a metric, and the grouping that the same statement computes.
func rangeIn(m logql.Metric) (*logql.Range, *logql.Grouping) {
	if v, ok := m.(*logql.Vector); ok {
		r, _ := rangeIn(v.Of)
		return r, v.Grouping
	}
	return m.(*logql.Range), nil
}

// TestWholeWords checks which part of a text has only whole words of each line that contains the text.
func TestWholeWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "needle": "", "two words": "", "the connection refused by": "connection refused", " needle ": "needle",
		"needle ": "", " needle": "", "=needle;": "needle", "a-ü-b": "ü", "x 日本 y": "日本", "...": "",
		"a b " + strings.Repeat("c", maxSearchText): "b",
		" " + strings.Repeat("é", maxSearchText):    "",
	} {
		if got := wholeWords(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestLokiLabels checks that the columns of the option loki_labels are labels, and no structured metadata.
func TestLokiLabels(t *testing.T) {
	def := app()
	def.Options = map[string]string{schema.OptionLokiLabels: "user.id,level,gone"}
	table := NewTable(def)
	if got := strings.Join(table.LabelNames(), " "); got != "level service_name table user_id" {
		t.Errorf("labels %s", got)
	}
	if len(table.Metadata) != 1 || table.Metadata[0].Label != "table_" {
		t.Errorf("metadata %v", table.Metadata)
	}
	e, err := logql.Parse(`{level="error", user_id=~"7|8"} | json | level_extracted="x"`)
	if err != nil {
		t.Fatal(err)
	}
	q, err := table.Compile(e.(*logql.Log))
	if err != nil {
		t.Fatal(err)
	}
	if where := q.Where(); where[0] != `"level" = 'error'` ||
		where[1] != `coalesce(CAST("user.id" AS VARCHAR), '') IN ('7', '8')` || len(where) != 3 {
		t.Errorf("%.300q", where)
	}
}

// TestBounds checks that templates which use each other's results do not make SQL of unbounded size.
func TestBounds(t *testing.T) {
	text := `{app="web"}` + strings.Repeat(` | label_format x="{{.x}}{{.x}}{{.app}}"`, 50) + ` | x="y"`
	e, err := logql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTable(pushed()).Compile(e.(*logql.Log)); errs.CodeOf(err) != errs.InvalidArguments {
		t.Error(err)
	}
}

// TestLongTexts checks that SQL never makes texts that are many times as long as the stored ones, and that a template
// whose text no filter reads is allowed, because its text is computed only for the entries of the answer.
func TestLongTexts(t *testing.T) {
	longer := func(n int) string {
		return "{{ .msg " + strings.Repeat("| Replace `e` `eeeeeeee` ", n) + "}}"
	}
	for query, refused := range map[string]bool{
		`{app="web"} | label_format x="` + longer(8) + `"`:                                       false,
		`{app="web"} | label_format x="` + longer(8) + `" | app="web" | msg="a" |= "a"`:          false,
		`{app="web"} | label_format x="` + longer(2) + `" | x="y"`:                               false,
		`{app="web"} | label_format x="` + longer(3) + `" | x="y"`:                               true,
		`{app="web"} | label_format x="` + longer(3) + `" | label_format y=x | y=~"y.*"`:         true,
		`{app="web"} | label_format x="` + longer(2) + `" | label_format x="{{.x}}{{.x}}" | x>1`: true,
		`{app="web"} | label_format x="` + longer(3) + `" | keep x | x="y"`:                      true,
		`{app="web"} | line_format "` + longer(3) + `" |= "a"`:                                   true,
		`{app="web"} | line_format "` + longer(3) + `" | logfmt | x="a"`:                         true,
		`{app="web"} | line_format "` + longer(3) + `" | json | __error__=""`:                    true,
		`{app="web"} | line_format "` + strings.Repeat("{{.app}}", 101) + `" !~ "a"`:             true,
		`{app="web"} | line_format "` + strings.Repeat("{{.app}}", 100) + `" !~ "a"`:             false,
		`bytes_over_time({app="web"} | line_format "` + longer(3) + `" [5m])`:                    true,
		`count_over_time({app="web"} | line_format "` + longer(3) + `" [5m])`:                    false,
		`sum by (x) (rate({app="web"} | label_format x="` + longer(3) + `" [5m]))`:               true,
		`sum by (app) (rate({app="web"} | label_format x="` + longer(3) + `" [5m]))`:             false,
		`max_over_time({app="web"} | label_format x="` + longer(3) + `" | unwrap x [5m]) by ()`:  true,
	} {
		e, err := logql.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.(logql.Metric); ok {
			r, g := rangeIn(m)
			_, err = NewTable(pushed()).Samples(r, g, Steps{Start: 1, Step: 1, N: 3})
		} else {
			_, err = NewTable(pushed()).Compile(e.(*logql.Log))
		}
		switch {
		case !refused && err != nil:
			t.Errorf("%s: %v", query, err)
		case refused && (errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "times as long")):
			t.Errorf("%s: %v, want it to be refused", query, err)
		}
	}
}

func TestLabelName(t *testing.T) {
	for in, want := range map[string]string{
		"app": "app", "user.id": "user_id", "0x": "_0x", "a-b c": "a_b_c", "ü": "_", "_a": "_a",
	} {
		if got := LabelName(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// FuzzCompile checks that a valid query becomes SQL of bounded size, or an error.
func FuzzCompile(f *testing.F) {
	for _, q := range golden {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := logql.Parse(text)
		if err != nil {
			return
		}
		for _, table := range []*Table{NewTable(pushed()), NewTable(app())} {
			switch e := e.(type) {
			case *logql.Log:
				_, _ = table.Compile(e)
			case *logql.Range:
				_, _ = table.Samples(e, nil, Steps{Start: 1, Step: 1, N: 3})
			}
		}
	})
}

// TestPlainLevels checks that the values that the SQL of detected_level takes as they are mean themselves.
func TestPlainLevels(t *testing.T) {
	for _, level := range plainLevels {
		if got := LevelOfWord(level); got != level {
			t.Errorf("%s is the level %q", level, got)
		}
		if got := LevelOfWord(strings.ToUpper(level)); got != level {
			t.Errorf("%s is the level %q", strings.ToUpper(level), got)
		}
	}
}
