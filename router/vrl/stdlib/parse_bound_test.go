package stdlib_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

// TestParsersAreLinear holds that no parser takes long on a text made to be slow to read.
// The bound is far above what a linear parser takes, and far below a quadratic one.
func TestParsersAreLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const size = 256 << 10
	fill := func(head, piece string) string { return head + strings.Repeat(piece, size/len(piece)) }
	texts := []string{
		fill("", "a"), fill("", " "), fill("", "\""), fill("", "'a="), fill("", "="), fill("", "["), fill("", "{"), fill("", "<"),
		fill("", ", client: "), fill("<13>1 - - - - - ", "[a b=\"c\" "), fill("CEF:0|a|b|c|d|e|f|a=", "="), fill("CEF:0|a|b|c|d|e|f|", "a=b "),
		fill("1.1.1.1 - ", "a ["), fill(`1.1.1.1 - - [10/Oct/2024:13:55:36 +0000] "`, `" 200 1 "`), fill("", "<a b='"), fill("", "a=\\\" "),
		fill("", "a=< "), fill("", "- "), fill("[", "1,"), fill("", "a: &a [*a, "), fill("", "1s"), fill("http://a/", "../"), fill("", "a."),
	}
	for _, source := range parsers {
		p, _, err := vrl.Compile("x = string(.x) ?? \"\"\n.x = x\n"+source, vrl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			event := value.ObjectOf(value.Field{Key: "x", Value: value.NewString(text)})
			meta := value.ObjectOf()
			// Some 0.1 s; minutes if it were the square of the size. Of the thread's own
			// time, because the machine may be busy.
			start := threadTime(t)
			_, err := p.Run(&event, &meta) // it may also run out of its budget
			if took := threadTime(t) - start; took > 10*time.Second {
				t.Errorf("%s on %.40q… takes %v (%v)", source, text, took, err)
			}
		}
	}
}

// threadTime is the CPU time of the thread that the test is locked to.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// TestDatadogQueryIsPaid: the pattern of a query is a constant, so that only the length of the
// text and of the query together tell what a match takes.
func TestDatadogQueryIsPaid(t *testing.T) {
	for _, query := range []string{"*" + strings.Repeat("a*", 1000) + "b", "@x:*" + strings.Repeat("a*", 1000) + "b"} {
		p, _, err := vrl.Compile("match_datadog_query(., s'"+query+"')", vrl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := value.NewString(strings.Repeat("a", 1<<20))
		event, meta := value.ObjectOf(value.Field{Key: "message", Value: text}, value.Field{Key: "x", Value: text}), value.ObjectOf()
		if _, err := p.Run(&event, &meta); err == nil || !strings.Contains(err.Error(), "steps") {
			t.Errorf("%.20s…: error %v, want that the budget of steps is spent", query, err)
		}
	}
}
