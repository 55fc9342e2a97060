package series

import (
	"strconv"
	"testing"
	"time"

	"cordwood/router/loki/logql"
)

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
