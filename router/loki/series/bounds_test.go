package series

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/loki/logql"
)

// A chain of label_replace could double a label with each of them.
func TestReplacedLabelsAreBounded(t *testing.T) {
	in := []*Series{New(map[string]string{"a": "ab"}, 1)}
	twice := &logql.LabelReplace{Dst: "a", Src: "a", Replacement: "$1$1", Re: regexp.MustCompile("^(?s:(.*))$")}
	for range 60 {
		out, err := Replace(twice, in)
		if err != nil {
			if size := len(in[0].Labels["a"]); errs.CodeOf(err) != errs.InvalidArguments || size > maxReplaced || size < 1<<16 {
				t.Errorf("after %d bytes: %v", size, err)
			}
			return
		}
		in = out
	}
	t.Errorf("a label of %d bytes", len(in[0].Labels["a"]))
}

// Many series together are bounded as well.
func TestAllReplacedLabelsAreBounded(t *testing.T) {
	var in []*Series
	for i := range 1000 {
		in = append(in, New(map[string]string{"a": strconv.Itoa(i), "b": strings.Repeat("x", 100_000)}, 1))
	}
	l := &logql.LabelReplace{Dst: "c", Src: "b", Replacement: "$1", Re: regexp.MustCompile("^(?s:(.*))$")}
	if _, err := Replace(l, in); errs.CodeOf(err) != errs.InvalidArguments {
		t.Error(err)
	}
	if out, err := Replace(l, in[:500]); err != nil || len(out[7].Labels["c"]) != 100_000 {
		t.Error(err)
	}
}

// Series on one side are not compared with each one on the other side: this would take minutes.
func TestMatchingIsLinear(t *testing.T) {
	const n, steps = 100_000, 10
	many, none := make([]*Series, n), make([]*Series, n)
	for i := range many {
		many[i] = New(map[string]string{"a": strconv.Itoa(i)}, steps)
		many[i].Set(i%steps, 1)
		none[i] = New(map[string]string{"a": strconv.Itoa(i)}, steps)
	}
	none[0].Set(3, 2)
	b := &logql.Binary{Op: "+", Matching: &logql.Matching{On: true, Group: "group_left"}}
	began := time.Now()
	v, err := Binary(b, Value{Series: many}, Value{Series: none}, steps, uncounted)
	if err != nil || len(v.Series) != n/steps {
		t.Errorf("%d series, want %d: %v", len(v.Series), n/steps, err)
	}
	for _, s := range v.Series {
		if !s.Has[3] || s.Values[3] != 3 || s.Has[2] {
			t.Fatalf("%+v", s)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestGroupedSeriesAreCounted checks that series of group_left are counted before they are made: each series of the
// left side makes one for each series of the right side, so 2,000 series would become a million.
func TestGroupedSeriesAreCounted(t *testing.T) {
	const n, most = 1000, 50
	left, right := make([]*Series, n), make([]*Series, n)
	for i := range n {
		left[i] = New(map[string]string{"a": strconv.Itoa(i)}, n)
		for step := range n {
			left[i].Set(step, 1)
		}
		right[i] = New(map[string]string{"b": strconv.Itoa(i)}, n)
		right[i].Set(i, 2)
	}
	full := errors.New("there are too many series")
	for _, group := range []string{"group_left", "group_right"} {
		b := &logql.Binary{Op: "*", Matching: &logql.Matching{On: true, Group: group, Include: []string{"a", "b"}}}
		l, r := left, right
		if group == "group_right" {
			l, r = right, left
		}
		counted := 0
		_, err := Binary(b, Value{Series: l}, Value{Series: r}, n, func(string) error {
			if counted++; counted > most {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || counted != most+1 {
			t.Errorf("%s: %d series are counted: %v", group, counted, err)
		}
	}
}
