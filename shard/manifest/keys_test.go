package manifest

import (
	"reflect"
	"strings"
	"testing"
)

// TestKeys checks that after a restart the state has the keys of the last edit with an applied
// index.
func TestKeys(t *testing.T) {
	fsys := mem(t)
	m := open(t, fsys, "/s")
	want := []Key{{1<<63 | 5, 1, 100}, {1<<63 | 5, 1<<64 - 1, 100}, {1 << 63, 0, 90}, {1<<64 - 1, 7, 1 << 62}}
	commit(t, m,
		&Edit{AppliedIndex: 5, AppliedTerm: 1, Clock: 100, Keys: []Key{{1 << 63, 1, 50}}},
		&Edit{AppliedIndex: 6, AppliedTerm: 1, Clock: 200, Keys: want},
		&Edit{Swept: true}, // the edit of a compaction
	)
	if got := m.State().Keys; !reflect.DeepEqual(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	m = open(t, fsys, "/s")
	if got := m.State().Keys; !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart: keys %v, want %v", got, want)
	}
	commit(t, m, &Edit{AppliedIndex: 7, AppliedTerm: 1, Clock: 300}) // rewritten without keys
	if got := open(t, fsys, "/s").State().Keys; len(got) != 0 {
		t.Errorf("keys %v, want none", got)
	}
	r := &reader{name: "MANIFEST"}
	if r.keys(appendKeys(nil, want)[:30]); r.err == nil || !strings.Contains(r.err.Error(), "key") {
		t.Errorf("truncated keys: error %v", r.err)
	}
}
