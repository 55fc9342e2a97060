package linear

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

func rows(all ...int) map[int]int {
	out := map[int]int{}
	for _, row := range all {
		out[row]++
	}
	return out
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(s *Set[int])
		want string // empty if there is no fault
	}{
		{"read while it is written", func(s *Set[int]) {
			s.Add(1, 0, 10)
			s.Read("a", 5, 6, rows(1))
			s.Read("a", 7, 8, rows(1))
		}, ""},
		{"not read while it is written", func(s *Set[int]) { s.Add(1, 0, 10); s.Read("a", 5, 15, rows()) }, ""},
		{"with unknown outcome", func(s *Set[int]) {
			s.Add(1, 0, Never)
			s.Read("a", 20, 21, rows())
			s.Read("a", 30, 31, rows(1))
		}, ""},
		{"stale", func(s *Set[int]) { s.Add(1, 0, 10); s.Read("a", 11, 12, rows()) }, "lacks a row"},
		{"back", func(s *Set[int]) {
			s.Add(1, 0, Never)
			s.Read("a", 20, 21, rows(1))
			s.Read("b", 30, 31, rows())
		}, "lacks a row"},
		{"twice", func(s *Set[int]) { s.Add(1, 0, 10); s.Read("a", 11, 12, rows(1, 1)) }, "more than once"},
		{"of an unknown row", func(s *Set[int]) { s.Read("a", 11, 12, rows(7)) }, "nobody sent"},
		{"of a row that was sent later", func(s *Set[int]) { s.Add(1, 20, 30); s.Read("a", 11, 12, rows(1)) }, "sent later"},
		{"refused", func(s *Set[int]) { s.Refuse(1); s.Read("a", 11, 12, rows(1)) }, "refused"},
		{"crossed", func(s *Set[int]) {
			s.Add(1, 0, 50)
			s.Add(2, 0, 50)
			s.Read("a", 5, 40, rows(1))
			s.Read("b", 5, 40, rows(2))
		}, "reads that lack rows of each other"},
		{"the later without the earlier", func(s *Set[int]) {
			s.Add(1, 0, 10)
			s.Add(2, 20, 30)
			s.Read("a", 5, 40, rows(2))
		}, "lacks a row"},
	} {
		var s Set[int]
		test.make(&s)
		got := strings.Join(s.Check(), "; ")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// call is an operation of porcupine's model of the set: a read, or, with a row, an addition.
type call struct {
	row  int
	mask uint
}

// model is the set in porcupine's form, with a bit for each row.
var model = porcupine.Model{
	Init: func() any { return uint(0) },
	Step: func(state, input, output any) (bool, any) {
		have, in := state.(uint), input.(call)
		if in.row >= 0 {
			return true, have | 1<<in.row
		}
		return output.(call).mask == have, have
	},
}

// TestCheckIsExact compares Check with porcupine, which tries all orders, for small random
// histories: some that are possible, and some with a changed answer.
func TestCheckIsExact(t *testing.T) {
	legal := 0
	const tries = 4000
	for seed := range uint64(tries) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var s Set[int]
		var ops []porcupine.Operation
		adds, reads := 2+rng.IntN(4), 2+rng.IntN(4)
		at := make([]time.Duration, adds) // the time of each event
		for i := range adds {
			begun := time.Duration(rng.IntN(40))
			at[i] = begun + time.Duration(rng.IntN(20))
			ended := at[i] + time.Duration(rng.IntN(20))
			op := porcupine.Operation{ClientId: i, Input: call{row: i}, Call: int64(begun), Output: call{}, Return: int64(ended)}
			if rng.IntN(4) == 0 { // with unknown outcome
				ended, op.Return = Never, int64(Never)
			}
			s.Add(i, begun, ended)
			ops = append(ops, op)
		}
		for i := range reads {
			begun := time.Duration(rng.IntN(60))
			now := begun + time.Duration(rng.IntN(20))
			ended := now + time.Duration(rng.IntN(20))
			mask, seen := uint(0), map[int]int{}
			for row := range adds {
				has := at[row] < now
				if rng.IntN(12) == 0 {
					has = !has
				}
				if has {
					mask |= 1 << row
					seen[row] = 1
				}
			}
			s.Read(fmt.Sprint(i), begun, ended, seen)
			ops = append(ops, porcupine.Operation{
				ClientId: adds + i, Input: call{row: -1}, Call: int64(begun), Output: call{mask: mask}, Return: int64(ended),
			})
		}
		got := s.Check()
		want := porcupine.CheckOperations(model, ops)
		if want {
			legal++
		}
		if (len(got) == 0) != want {
			slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
			t.Fatalf("seed %d: porcupine: the history is linearizable: %t; Check: %q\n%+v", seed, want, got, ops)
		}
	}
	if legal < tries/10 || legal > tries*9/10 {
		t.Errorf("%d of %d histories are linearizable: too few of one kind", legal, tries)
	}
	t.Logf("%d of %d histories are linearizable", legal, tries)
}
