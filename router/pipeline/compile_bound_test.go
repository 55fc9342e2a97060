package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl/vrltest"
)

// TestCompileBounded compiles documents that are designed to be slow to compile. Every user who may read can send
// them in a dry run. Each must be compiled or refused within seconds.
func TestCompileBounded(t *testing.T) {
	size := 512 << 10
	if testing.Short() {
		size = 64 << 10
	}
	list := func(head string, f func(i int) string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < size; i++ {
			b.WriteString(f(i))
		}
		return b.String()
	}
	processors := func(f func(i int) string) string { return list("processors:\n", f) }
	patterns := func(name string, f func(i int) string) string {
		return processors(func(i int) string {
			if i%200 == 0 {
				return fmt.Sprintf("- %s:\n    field: a\n    patterns:\n    - '%s'\n", name, f(i))
			}
			return fmt.Sprintf("    - '%s'\n", f(i))
		})
	}
	few := func(f func(i int) string) string { // the largest allowed number of processors
		var b strings.Builder
		b.WriteString("processors:\n")
		for i := range 1000 {
			b.WriteString(f(i))
		}
		return b.String()
	}
	large := strings.Repeat("a{1000}", 19)
	for name, doc := range map[string]string{
		"1,000 large programs": few(func(int) string {
			return "- vrl: {source: \".a = match(string!(.a), r'" + large + "')\\n.\"}\n"
		}),
		"1,000 refused programs": few(func(int) string {
			return "- vrl: {source: \".a = match(string!(.a), r'(b{1000}){110}')\\n.\"}\n"
		}),
		"1,000 wrong programs": few(func(int) string {
			return "- vrl: {source: \".a = match(string!(.a), r'(b{1000}){90}')\"}\n"
		}),
		"1,000 large patterns": few(func(int) string {
			return "- gsub: {field: a, pattern: '" + large + "', replacement: x}\n"
		}),
		"1,000 too large ones": few(func(int) string {
			return "- gsub: {field: a, pattern: '" + large + large + "', replacement: x}\n"
		}),
		"1,000 too large queries": few(func(int) string {
			return "- json_path: {field: a, json_path: '$[?search(@.b, \"" + large + large + "\")]'}\n"
		}),
		"1,000 too large groks": few(func(int) string {
			return "- grok: {field: a, pattern: '%{WORD:w}" + strings.Repeat(large, 5) + "'}\n"
		}),
		"patterns that are too large": patterns("regex", func(i int) string {
			return fmt.Sprintf("(?<x>(a{1000}){%d})", 20+i%30)
		}),
		"patterns that are just too large": patterns("regex", func(i int) string {
			return fmt.Sprintf("(?<x>a{%d}b{%d}(c{1000}){17})", 900+i%99, i%1000)
		}),
		"patterns that are large": patterns("regex", func(i int) string {
			return fmt.Sprintf("(?<x>(a{1000}){%d})", 1+i%15)
		}),
		"patterns that are wrong": patterns("regex", func(int) string { return "(?<x>((((a)" }),
		"grok patterns":           patterns("grok", func(int) string { return "%{COMBINEDAPACHELOG}" }),
		"grok patterns that are too large": patterns("grok", func(i int) string {
			return fmt.Sprintf("(?<x>(a{1000}){%d})%%{WORD:w}", 60+i%30)
		}),
		"grok patterns that are unknown": patterns("grok", func(i int) string { return fmt.Sprintf("%%{WORT%d:w}", i) }),
		"grok definitions": list("processors:\n- grok:\n    field: a\n    pattern: '%{P1:x}'\n    pattern_definitions:\n",
			func(i int) string {
				return fmt.Sprintf("      P%d: '%%{COMBINEDAPACHELOG}%%{P%d}'\n", i, i+1)
			}),
		"dissect patterns": patterns("dissect", func(i int) string { return strings.Repeat(fmt.Sprintf("%%{a%d} ", i), 20) }),
		"replacements": processors(func(i int) string {
			return fmt.Sprintf("- gsub: {field: a, pattern: '(b{1000}){%d}', replacement: x}\n", 20+i%9)
		}),
		"targets": "processors:\n- csv:\n    field: a\n    target_fields: [" +
			list("", func(i int) string { return fmt.Sprintf("t%d, ", i) }) + "]\n",
		"targets of filters": "processors:\n- filter:\n    field: a\n    targets: [" +
			list("", func(i int) string { return fmt.Sprintf("t%d, ", i) }) + "]\n",
		"digests": processors(func(int) string {
			return "- digest: {field: a, regex: ['(b{1000}){21}', '(c{1000}){22}']}\n"
		}),
		"queries": processors(func(i int) string {
			return fmt.Sprintf("- json_path: {field: a, json_path: '$[?search(@.b, \"(c{1000}){%d}\")]'}\n", 20+i%9)
		}),
		"programs": processors(func(i int) string {
			return fmt.Sprintf("- vrl: {source: \".a = match(string!(.a), r'(b{1000}){%d}')\\n.\"}\n", 101+i%9)
		}),
		"programs of patterns": processors(func(int) string {
			return "- vrl: {source: \".a = match(string!(.a), r'(b{1000}){90}')\\n.\"}\n"
		}),
		"unknown processors": processors(func(i int) string { return fmt.Sprintf("- disect%d: {field: a}\n", i) }),
		"transforms": list("processors: [{letter: {field: a}}]\ntransform:\n",
			func(i int) string { return fmt.Sprintf("- {field: f%d, type: string}\n", i) }),
		"fields of a transform": "transform:\n- fields: [" + list("", func(i int) string { return fmt.Sprintf("t%d, ", i) }) +
			"]\n  type: string\n",
		"rules": list("processors: [{letter: {field: a}}]\ndispatcher:\n  field: a\n  rules:\n",
			func(i int) string { return fmt.Sprintf("  - {value: %d, table_suffix: _%d, pipeline: p%d}\n", i, i, i) }),
		"deep flow":   "processors: " + strings.Repeat("[", 4000) + strings.Repeat("]", 4000),
		"deep blocks": list("", func(i int) string { return strings.Repeat(" ", min(i, 900)) + "a:\n" }),
		"anchors": "a: &a [x, x, x, x]\n" + list("", func(i int) string {
			return fmt.Sprintf("b%d: &b%d [*a, *a, *a]\n", i, i)
		}),
		"merges": "x: &x {a: 1}\nprocessors:\n" +
			list("", func(int) string { return "- letter: {<<: [*x, *x, *x], field: a}\n" }),
		"long scalars":    "processors:\n- letter: {field: \"" + strings.Repeat("\\u00e9", size/6) + "\"}\n",
		"comments":        list("", func(int) string { return "#\n" }) + "processors: []\n",
		"keys of one map": list("", func(i int) string { return fmt.Sprintf("k%d: 1\n", i) }),
		"unclosed":        list("processors: [", func(int) string { return "{a: [" }),
	} {
		t.Run(name, func(t *testing.T) {
			watch := vrltest.StartWatch(t)
			_, err := Compile([]byte(doc), Options{})
			took := watch.Took(t)
			if took > 10*time.Second {
				t.Errorf("%d bytes take %v (%.200v)", len(doc), took, err)
			} else if testing.Verbose() {
				t.Logf("%v for %d bytes: %.250v", took, len(doc), err)
			}
		})
	}
}
