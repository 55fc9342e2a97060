package raftlog

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestEntriesTakenBack lets another leader repeatedly replace the end of a log with its own
// entries. The log opens again with the new entries.
func TestEntriesTakenBack(t *testing.T) {
	for _, kind := range []Kind{WAL, Bolt} {
		dir := t.TempDir()
		want := makeLog(t, dir, kind)
		for round, first := range []uint64{uint64(len(want)), uint64(len(want)) - 2, 8} {
			s, err := Open(testConfig(dir, kind, func(err error) { t.Error(err) }))
			if err != nil {
				t.Fatalf("%s, round %d: %v", kind, round, err)
			}
			last, err := s.LastIndex()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.DeleteRange(first, last); err != nil {
				t.Fatal(err)
			}
			if round != 1 { // the process may also end before new entries arrive
				err = s.StoreLogs([]*raft.Log{
					{Index: first, Term: 9, Type: raft.LogCommand, Data: []byte("another"), AppendedAt: time.Unix(1, 0)},
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			want = want[:first-1]
			if round != 1 {
				want = append(want, fmt.Sprintf("%d/9/0 %x", first, "another"))
			}
			got, err := entriesOf(dir, kind)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%s, round %d: %d entries, want %d: %v", kind, round, len(got), len(want), err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s, round %d: the entries of the log differ from the stored ones", kind, round)
			}
			v, err := Verify(dir, nil, nil)
			if err != nil || v.Last != uint64(len(want)) {
				t.Errorf("%s, round %d: Verify: last entry %d, want %d: %v", kind, round, v.Last, len(want), err)
			}
		}
	}
}
