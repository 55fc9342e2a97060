package lines

import (
	"maps"
	"testing"

	"cordwood/router/loki/logql"
)

// TestLabelsAsInLoki checks which labels entries have after pipelines, as Loki 3.7.8 computes them.
func TestLabelsAsInLoki(t *testing.T) {
	for _, tt := range []struct {
		line, pipeline string
		want           map[string]string
	}{
		// After a parser, != and !~ filter lines.
		{`{"a":"1"}`, `| json != "x"`, map[string]string{"app": "web", "a": "1"}},
		{`{"a":"1"}`, `| json !~ "a"`, nil},
		{`a=1`, `| logfmt != "1"`, nil},
		// A label keeps the value that the first parser found, or that a stage has set.
		{"a=1 b=2", `| logfmt | regexp "(?P<a>\\w+)=(?P<b>\\w+)"`, map[string]string{"app": "web", "a": "1", "b": "2"}},
		{"a=1", "| label_format a=`x` | logfmt", map[string]string{"app": "web", "a": "x"}},
		{"a=1 a=2", `| logfmt a`, map[string]string{"app": "web", "a": "1"}},
		// A parsed label of the name of an indexed one gets a suffix, also after a stage has removed that one.
		{"app=x", `| logfmt`, map[string]string{"app": "web", "app_extracted": "x"}},
		{"app=x", `| drop app | logfmt`, map[string]string{"app_extracted": "x"}},
		{"app=x a=1", `| keep a | logfmt`, map[string]string{"app_extracted": "x", "a": "1"}},
		{"app=x", "| label_format app=`y` | logfmt", map[string]string{"app": "y", "app_extracted": "x"}},
		// Renaming a label without a value changes nothing.
		{"a=1", `| logfmt | label_format a=b, app=c`, map[string]string{"app": "web", "a": "1"}},
		{"a=1 b=2", `| logfmt | label_format a=b`, map[string]string{"app": "web", "a": "2"}},
		// unpack finds labels only in lines that were packed.
		{`{"a":"1"}`, `| unpack`, map[string]string{"app": "web"}},
		{`{"a":"1","_entry":"x"}`, `| unpack`, map[string]string{"app": "web", "a": "1"}},
		// The last parser that fails is named.
		{"{", `| logfmt --strict | json`, map[string]string{"app": "web", "__error__": "JSONParserErr"}},
		{`a="`, `| json | logfmt --strict`, map[string]string{"app": "web", "__error__": "LogfmtParserErr"}},
		// A part of a byte does not count.
		{`{"v":1.50,"l":[1.0,2e3]}`, `| json | v="1.50"`, map[string]string{"app": "web", "v": "1.50"}},
		{`{"v":1.50,"l":[1.0,2e3]}`, `| json x="l[1]" | x="2e3"`, map[string]string{"app": "web", "x": "2e3"}},
		{"size=1.5", `| logfmt | size = 1B`, map[string]string{"app": "web", "size": "1.5"}},
		{"size=1.5KB", `| logfmt | size = 1500B`, map[string]string{"app": "web", "size": "1.5KB"}},
	} {
		q, err := logql.Parse(`{app="web"} ` + tt.pipeline)
		if err != nil {
			t.Errorf("%s: %v", tt.pipeline, err)
			continue
		}
		e := &Entry{Line: tt.line, Labels: map[string]string{"app": "web"}}
		if passed, err := New(q.(*logql.Log)).Run(t.Context(), e); err != nil || passed != (tt.want != nil) {
			t.Errorf("%s %s: passed %t", tt.line, tt.pipeline, passed)
			continue
		}
		got := maps.Clone(e.Labels)
		maps.Copy(got, e.Metadata)
		maps.Copy(got, e.Parsed)
		if tt.want != nil && !maps.Equal(got, tt.want) {
			t.Errorf("%s %s: %v, want %v", tt.line, tt.pipeline, got, tt.want)
		}
	}
}
