package placement

import (
	"fmt"
	"testing"
)

func loads(tables ...uint64) []Load {
	var out []Load
	for i, n := range tables {
		out = append(out, Load{ShardID: uint32(i + 1), Tables: n})
	}
	return out
}

func TestPick(t *testing.T) {
	tests := []struct {
		name  string
		loads []Load
		want  uint32
		found bool
	}{
		{"no shard", nil, 0, false},
		{"one shard", loads(100), 1, true},
		{"fewest tables", loads(3, 1, 2), 2, true},
		{"fewest tables first", loads(0, 1, 2), 1, true},
		{"fewest tables last", loads(5, 4, 3), 3, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, found := Pick(test.loads, "public", "t")
			if got != test.want || found != test.found {
				t.Errorf("got %d, %v, want %d, %v", got, found, test.want, test.found)
			}
		})
	}
}

// The choice among equals is part of the replicated state machine.
func TestPickAmongEqualsIsFixed(t *testing.T) {
	got := ""
	for _, name := range []string{"access", "errors", "app", "audit", "syslog", "t"} {
		id, _ := Pick(loads(0, 0, 0, 0), "public", name)
		got += fmt.Sprintf("%s:%d ", name, id)
	}
	const want = "access:3 errors:3 app:1 audit:2 syslog:1 t:2 "
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestPickDoesNotDependOnOrder(t *testing.T) {
	up := loads(1, 1, 1, 1, 1)
	var down []Load
	for i := range up {
		down = append(down, up[len(up)-1-i])
	}
	for i := range 100 {
		name := fmt.Sprintf("t%d", i)
		a, _ := Pick(up, "d", name)
		b, _ := Pick(down, "d", name)
		if a != b {
			t.Errorf("%s: %d in one order, %d in the other", name, a, b)
		}
	}
}

func TestPickKeepsShardsEven(t *testing.T) {
	state := loads(0, 0, 0, 0)
	for i := range 1000 {
		id, _ := Pick(state, "public", fmt.Sprintf("table_%d", i))
		state[id-1].Tables++
	}
	for _, l := range state {
		if l.Tables != 250 {
			t.Errorf("shard %d has %d tables, want 250", l.ShardID, l.Tables)
		}
	}
}

func TestInitial(t *testing.T) {
	shards := Initial(3, "n1")
	if len(shards) != 3 || shards[0].Id != 1 || shards[2].Id != 3 || shards[1].Replicas[0] != "n1" ||
		shards[1].Incarnation != 1 {
		t.Errorf("got %v", shards)
	}
}
