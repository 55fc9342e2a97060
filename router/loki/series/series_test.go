package series

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cordwood/router/loki/logql"
)

// given has the series that queries select by name. Each series has two steps.
var given = map[string][]*Series{
	"a": {of("app=web,env=prod", 1, 2), of("app=api,env=prod", 3, 4), of("app=web,env=dev", 5, 6)},
	"b": {of("app=web", 10, 20), of("app=api", 30, 0)},
}

func of(labels string, x, y float64) *Series {
	s := New(map[string]string{}, 2)
	for l := range strings.SplitSeq(labels, ",") {
		if name, v, ok := strings.Cut(l, "="); ok {
			s.Labels[name] = v
		}
	}
	s.Set(0, x)
	if y != 0 {
		s.Set(1, y)
	}
	return s
}

// uncounted lets operators make any number of series.
func uncounted(string) error { return nil }

// eval computes a query whose selectors name the series of given.
func eval(m logql.Metric) (Value, error) {
	switch m := m.(type) {
	case *logql.Number:
		return Constant(m.Value, 2), nil
	case *logql.Range:
		return Value{Series: given[m.Log.Matchers[0].Value]}, nil
	case *logql.Vector:
		in, err := eval(m.Of)
		return Value{Series: Aggregate(m, in.Series, 2)}, err
	case *logql.LabelReplace:
		in, err := eval(m.Of)
		if err != nil {
			return in, err
		}
		out, err := Replace(m, in.Series)
		return Value{Series: out}, err
	case *logql.Binary:
		l, err := eval(m.L)
		if err != nil {
			return l, err
		}
		r, err := eval(m.R)
		if err != nil {
			return r, err
		}
		return Binary(m, l, r, 2, uncounted)
	}
	return Value{}, fmt.Errorf("%T", m)
}

func show(v Value) string {
	if v.Scalar != nil {
		return fmt.Sprint(v.Scalar)
	}
	var out []string
	for _, s := range Sorted(slices.Clone(v.Series)) {
		text := fmt.Sprint(s.Labels)[3:]
		for i, ok := range s.Has {
			if ok {
				text += fmt.Sprintf(" %d:%g", i, s.Values[i])
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func TestOperators(t *testing.T) {
	for query, want := range map[string]string{
		"1 + 2 * 3":              "[7 7]",
		"2 > 1":                  "[1 1]",
		"7 % 4 ^ 2":              "[7 7]",
		"sum(A)":                 "[] 0:9 1:12",
		"sum by (app) (A)":       "[app:api] 0:3 1:4; [app:web] 0:6 1:8",
		"avg without (app) (A)":  "[env:dev] 0:5 1:6; [env:prod] 0:2 1:3",
		"max by (env) (A)":       "[env:dev] 0:5 1:6; [env:prod] 0:3 1:4",
		"min(A)":                 "[] 0:1 1:2",
		"count(B)":               "[] 0:2 1:1",
		"stdvar(A)":              "[] 0:2.6666666666666665 1:2.6666666666666665",
		"topk(1, A)":             "[app:web env:dev] 0:5 1:6",
		"bottomk(1, A) by (app)": "[app:api env:prod] 0:3 1:4; [app:web env:prod] 0:1 1:2",
		"A * 2 > 5":              "[app:api env:prod] 0:6 1:8; [app:web env:dev] 0:10 1:12",
		"A > bool 2":             "[app:api env:prod] 0:1 1:1; [app:web env:dev] 0:1 1:1; [app:web env:prod] 0:0 1:0",
		"sum by (app) (A) + B":   "[app:api] 0:33; [app:web] 0:16 1:28",
		"A / on (app) group_left () B": "[app:api env:prod] 0:0.1; [app:web env:dev] 0:0.5 1:0.3; " +
			"[app:web env:prod] 0:0.1 1:0.1",
		"B - on (app) group_right () A": "[app:api env:prod] 0:27; [app:web env:dev] 0:5 1:14; [app:web env:prod] 0:9 1:18",
		"A + on (app) B":                "error: many-to-one",
		"B + on () A":                   "error: many-to-many",
		"A and on (app) B":              "[app:api env:prod] 0:3; [app:web env:dev] 0:5 1:6; [app:web env:prod] 0:1 1:2",
		"A unless on (app) B":           "[app:api env:prod] 1:4",
		"B or A": "[app:api] 0:30; [app:api env:prod] 0:3 1:4; [app:web] 0:10 1:20; [app:web env:dev] 0:5 1:6; " +
			"[app:web env:prod] 0:1 1:2",
		`label_replace(B, "x", "$1!", "app", "(.).*")`: "[app:api x:a!] 0:30; [app:web x:w!] 0:10 1:20",
		`label_replace(B, "app", "", "app", ".*")`:     "error: two series with the same labels",
	} {
		text := strings.NewReplacer("A", `rate({s="a"}[1m])`, "B", `rate({s="b"}[1m])`).Replace(query)
		e, err := logql.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		v, err := eval(e.(logql.Metric))
		if part, ok := strings.CutPrefix(want, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %s", query, err, want)
			}
			continue
		}
		if err != nil || show(v) != want {
			t.Errorf("%s: %s (%v)\nwant %s", query, show(v), err, want)
		}
	}
}
