package vrl_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/vrltest"
)

// hostilePrograms returns programs of about n bytes that are designed to be slow to compile.
var hostilePrograms = map[string]func(n int) string{
	"assignments of objects that hold one another": func(n int) string {
		return lines(n, func(i int) string {
			return fmt.Sprintf(".v%d = {\"a\": .v%d, \"b\": .v%d}", i%50+1, i%50, (i+7)%50)
		})
	},
	"variables that double": func(n int) string {
		return "v0 = {\"a\": .x}\n" + lines(n, func(i int) string {
			return fmt.Sprintf("v%d = {\"a\": v%d, \"b\": v%d}", i+1, i, i)
		})
	},
	"one variable that doubles": func(n int) string {
		return "v = {}\n" + lines(n, func(int) string { return "v = {\"a\": v, \"b\": v}" })
	},
	"arrays that double": func(n int) string {
		return "v = [.x]\n" + lines(n, func(int) string { return "v = [v, v]" })
	},
	"constants that double": func(n int) string {
		return "v = [1]\n" + lines(n, func(int) string { return "v = [v, v, 1]" })
	},
	"texts that double": func(n int) string { return "v = \"ab\"\n" + lines(n, func(int) string { return "v = v + v" }) },
	"merges": func(n int) string {
		return lines(n, func(i int) string { return fmt.Sprintf(". |= {\"k%d\": {\"l\": .x}}", i) })
	},
	"merges of the variable": func(n int) string {
		return "v = {}\n" + lines(n, func(i int) string { return fmt.Sprintf("v = v | {\"k%d\": v}", i) })
	},
	"many fields": func(n int) string {
		return lines(n, func(i int) string { return fmt.Sprintf(".f%d.g%d = %d", i, i%3, i) })
	},
	"deep paths": func(n int) string {
		return lines(n, func(i int) string { return fmt.Sprintf(".%sx%d = 1", strings.Repeat("a.", 100), i) })
	},
	"indices": func(n int) string {
		return lines(n, func(i int) string { return fmt.Sprintf(".a[%d] = .b[%d]", i, -i) })
	},
	"large indices": func(n int) string {
		return lines(n, func(i int) string { return fmt.Sprintf(".a%d[65536] = 1", i) })
	},
	"branches with unions": func(n int) string {
		return lines(n, func(i int) string {
			return fmt.Sprintf("if .c == %d { .a = {\"k%d\": 1} } else { .a = [.a, \"x\"] }", i, i)
		})
	},
	"nested ifs": func(n int) string {
		depth := min(n/60, 1000)
		return strings.Repeat("if .a == 1 { .b = {\"x\": .b}\n", depth) + ".c = 1" +
			strings.Repeat("\n} else { .b = [.b] }", depth)
	},
	"else ifs": func(n int) string {
		return "if .a == 0 { .b = 1 }" + strings.Repeat(" else if .a == 1 { .b = {\"x\": .b} }", n/37)
	},
	"nested closures": func(n int) string {
		depth := min(n/60, 1000)
		return strings.Repeat("x = map_values({\"a\": 1, \"b\": .c}) -> |v| { w = [v]\n", depth) + "1" +
			strings.Repeat(" }", depth)
	},
	"closures that assign": func(n int) string {
		return lines(n, func(i int) string {
			return fmt.Sprintf("v%d = {}\nfor_each({\"a\": 1}) -> |k, v| { v%d = {\"a\": v%d, \"b\": k} }", i, i, i)
		})
	},
	"nested closures that assign": func(n int) string {
		depth := min(n/80, 100)
		return "v = {}\n" + strings.Repeat("for_each({\"a\": 1}) -> |k, _| { v = {\"a\": v, \"b\": v}\n", depth) +
			strings.Repeat(" }", depth)
	},
	"parentheses":     func(n int) string { return strings.Repeat("(", n/2) + "1" + strings.Repeat(")", n/2) },
	"brackets":        func(n int) string { return ".a = " + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"braces":          func(n int) string { return strings.Repeat("{", n/2) + "1" + strings.Repeat("}", n/2) },
	"negations":       func(n int) string { return ".a = " + strings.Repeat("!", n) + "true" },
	"operands":        func(n int) string { return ".a = 1" + strings.Repeat(" + 1", n/4) },
	"coalescing":      func(n int) string { return ".a = to_int(.a)" + strings.Repeat(" ?? to_int(.b)", n/15) + " ?? 1" },
	"merged operands": func(n int) string { return ".a = {}" + strings.Repeat(" | {\"a\": {\"b\": .c}}", n/20) },
	"calls in calls": func(n int) string {
		return ".a = " + strings.Repeat("string!(", n/9) + ".b" + strings.Repeat(")", n/9)
	},
	"templates":    func(n int) string { return "v = \"x\"\nw = \"" + strings.Repeat("{{v}}", n/5) + "\"\n.a = w" },
	"an object":    func(n int) string { return ".a = {" + strings.Repeat("\"k\": .b, ", n/9) + "}" },
	"wide objects": func(n int) string { return ".a = {" + numbered(n/14, "\"k%d\": .b") + "}" },
	"an array":     func(n int) string { return ".a = [" + strings.Repeat(".b, ", n/4) + "]" },
	"patterns": func(n int) string {
		return lines(n, func(i int) string { return fmt.Sprintf(".m = match(\"x\", r'(a{%d}){99}')", 900+i%99) })
	},
	"a large pattern": func(n int) string {
		return ".m = match(\"x\", r'" + strings.Repeat("(a|b)*", min(n, 60_000)/6) + "')"
	},
	"grok patterns": func(n int) string {
		return lines(n, func(int) string { return ".g, err = parse_grok(\"x\", \"%{COMBINEDAPACHELOG}\")" })
	},
	"wrong names": func(n int) string {
		return lines(n, func(i int) string { return fmt.Sprintf("upcasf%d(\"x\")", i) })
	},
	"unknown variable": func(n int) string { return lines(n, func(i int) string { return fmt.Sprintf(".a = v%d", i) }) },
	"declared names and wrong ones": func(n int) string {
		return lines(n/2, func(i int) string { return fmt.Sprintf("variable%d = 1", i) }) +
			lines(n/2, func(i int) string { return fmt.Sprintf(".a = variabl%d", i) })
	},
	"unhandled errors": func(n int) string { return lines(n, func(int) string { return "to_int(.a)" }) },
	"deletions": func(n int) string {
		return lines(n, func(i int) string { return fmt.Sprintf(".a.b%d.c = 1\ndel(.a.b%d.c, compact: true)", i, i) })
	},
	"unnest": func(n int) string {
		return lines(n, func(int) string { return ".a = [{\"b\": .a}]\n.a = unnest!(.a)" })
	},
	"flatten": func(n int) string {
		return "v = {}\n" + lines(n, func(i int) string { return fmt.Sprintf("v = flatten({\"k%d\": v, \"l\": v})", i) })
	},
}

func lines(n int, f func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(f(i))
		b.WriteByte('\n')
	}
	return b.String() + "."
}

func numbered(n int, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(list, ", ")
}

// TestCompileBounded compiles 256 KB of programs that are designed to be slow to compile. Each must be compiled
// or refused within seconds. The limit is far above the normal time, and far below the time of any quadratic
// work.
func TestCompileBounded(t *testing.T) {
	size := 256 << 10
	if testing.Short() {
		size = 32 << 10
	}
	for name, program := range hostilePrograms {
		t.Run(name, func(t *testing.T) {
			source := program(size)
			watch := vrltest.StartWatch(t)
			_, _, err := vrl.Compile(source, vrl.Options{})
			if err != nil && strings.Contains(err.Error(), "internal error") {
				t.Error(err)
			}
			took := watch.Took(t)
			if took > 10*time.Second {
				t.Errorf("%d bytes take %v (%.200v)", len(source), took, err)
			} else if testing.Verbose() {
				t.Logf("%v for %d bytes: %.100v", took, len(source), err)
			}
		})
	}
}
