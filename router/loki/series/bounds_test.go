package series

import (
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
	v, err := Binary(b, Value{Series: many}, Value{Series: none}, steps)
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
