package nearest

import (
	"fmt"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for _, tt := range []struct {
		text, known, want string
	}{
		{"", "a ab", ""},
		{"a", "b", ""},
		{"a", "A", "A"},
		{"y", "j yxz", ""},
		{"x-svc-foo", "x-svc-ttl x-svc-db-name", ""}, // the common beginning does not count
		{"node-addr", "loki-addr http-addr", ""},     // nor does the common end
		{"http-adr", "loki-addr http-addr", "http-addr"},
		{"in_root", "into_root", "into_root"},
		{"custom_time_idx", "custom_time_index", "custom_time_index"},
		{"max_nested_level", "max_nested_levels", "max_nested_levels"},
		{"cluster.nod", "cluster.node cluster.name", "cluster.node"},
		{"a-b", "a-b", "a-b"},
		{"ab", "ac", "ac"}, // one edit from two bytes on
		{"ab", "cd", ""},
		{"foo", "ttl fox", "fox"},
		{"cat", "tag", ""},
		{"erro", "error", "error"},
		{"tbale", "label table", "table"}, // swapped neighbours are one edit
		{"skip_erorr", "skip_errors_not skip_error", "skip_error"},
		{"tabel", "table pipeline", "table"},
		{"TABEL", "table", "table"},
		{"host", "Host hosts", "Host"},
		{"logs", "log logs2", "log"}, // equally similar: the first
		{"comp", "come completion", "come"},
		{"compl", "cample completion", "completion"}, // a beginning is one edit
		{"co", "completion", ""},                     // too short for a beginning
		{"completions", "completion", "completion"},  // not a beginning, but one edit away
		{"nothing_like_it", "table pipeline", ""},
		{"abcdef", "abcdxy", "abcdxy"}, // 2 of 6
		{"abcdef", "abcxyz", ""},       // 3 of 6
		{"abcdefgh", "abcdexyz", "abcdexyz"},
		{strings.Repeat("x", 101), strings.Repeat("x", 101), ""},
	} {
		if got := Name(tt.text, strings.Fields(tt.known)); got != tt.want {
			t.Errorf("%q among %s: %q, want %q", tt.text, tt.known, got, tt.want)
		}
	}
}

func TestNameLooksAtBoundedNumber(t *testing.T) {
	known := make([]string, 0, 10_001)
	for i := range 10_000 {
		known = append(known, fmt.Sprintf("%010d", i))
	}
	if got := Name("table", append(known, "table")); got != "" {
		t.Errorf("found %q after 10,000 names", got)
	}
	if got := Name("table", append(known[:9_999], "table")); got != "table" {
		t.Errorf("found %q among 10,000 names", got)
	}
}

func TestDidYouMean(t *testing.T) {
	if got, want := DidYouMean("; ", "tabel", []string{"table"}), `; did you mean "table"?`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := DidYouMean("; ", "nope", []string{"table"}); got != "" {
		t.Errorf("%q, want nothing", got)
	}
}

// FuzzDistance compares the bounded distance with a plain recursive one.
func FuzzDistance(f *testing.F) {
	for _, pair := range [][2]string{{"tbale", "table"}, {"", "ab"}, {"abcd", "badc"}, {"ca", "abc"}, {"a", "a"}} {
		f.Add(pair[0], pair[1], uint8(3))
	}
	f.Fuzz(func(t *testing.T, a, b string, limit uint8) {
		a, b = a[:min(len(a), 7)], b[:min(len(b), 7)]
		n := int(limit%8) + 1
		want := min(slow(a, b), n)
		if got := distance(a, b, n); got != want {
			t.Errorf("%q, %q, at most %d: %d, want %d", a, b, n, got, want)
		}
	})
}

func slow(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[len(a)-1] == b[len(b)-1]:
		return slow(a[:len(a)-1], b[:len(b)-1])
	}
	x, y := a[:len(a)-1], b[:len(b)-1]
	best := 1 + min(slow(x, y), slow(x, b), slow(a, y))
	if len(x) > 0 && len(y) > 0 && a[len(a)-1] == y[len(y)-1] && x[len(x)-1] == b[len(b)-1] {
		best = min(best, 1+slow(x[:len(x)-1], y[:len(y)-1]))
	}
	return best
}
