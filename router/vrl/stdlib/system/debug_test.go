package system_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
	"cordwood/router/vrl/vrltest"
)

func TestAssert(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `assert!(true)`, Want: `true`},
		{Source: `assert!(false)`, RunError: "assertion failed"},
		{Source: `assert!(false, message: "no")`, RunError: "no"},
		{Source: `assert(true)`, CompileError: "E100"},
		{Source: `assert!(1)`, CompileError: "E110"},
	})
}

func TestAssertEq(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `assert_eq!({"a": [1]}, {"a": [1]})`, Want: `true`},
		{Source: `assert_eq!(.none, null)`, Want: `true`},
		{Source: `assert_eq!(1, 1.0)`, RunError: "assertion failed: 1 == 1"},
		{
			Source:   `assert_eq!({"a": "x"}, [t'2020-01-01T00:00:00Z', null])`,
			RunError: `assertion failed: { "a": "x" } == [t'2020-01-01T00:00:00Z', null]`,
		},
		{Source: `assert_eq!(1, 2, "differ")`, RunError: "differ"},
	})
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	run := func(source string) func() string {
		p, _, err := vrl.Compile(source, vrl.Options{
			Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Now:    func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		return func() string {
			out.Reset()
			event, meta := value.NewObject(value.MakeFields(0)), value.NewObject(value.MakeFields(0))
			if _, err := p.Run(&event, &meta); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
	}
	has := func(got string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("logged %q; want %q in it", got, w)
			}
		}
		if len(want) == 0 && got != "" {
			t.Errorf("logged %q; want nothing", got)
		}
	}

	limited := run(`log("hello", level: "warn", rate_limit_secs: 10)`)
	has(limited(), "level=WARN", "msg=hello")
	has(limited())
	now = now.Add(9 * time.Second)
	has(limited())
	now = now.Add(time.Second)
	has(limited(), "msg=hello", "suppressed=2")

	always := run(`log({"a": [1]}, rate_limit_secs: 0)`)
	has(always(), "level=INFO", `{ \"a\": [1] }`)
	has(always(), "level=INFO")
	has(run(`log("x", level: "trace")`)())
	has(run(`log("x", level: "debug")`)(), "level=DEBUG")
	has(run(`log("x", level: "error")`)(), "level=ERROR")

	long := run(`log("aé" + replace("                                ", " ", "` + strings.Repeat("é", 200) + `"))`)()
	if len(long) > 9000 || !strings.Contains(long, "é…") {
		t.Errorf("a long text was logged in %d bytes", len(long))
	}
	vrltest.Run(t, []vrltest.Case{
		{Source: `log(1, level: "fatal")`, CompileError: "E401"},
		{Source: `log(1)`, Want: `null`},
	})
}
