package simulation

import (
	"bytes"
	"fmt"
	"maps"
	"sync"

	"github.com/hashicorp/raft"
)

// archives keeps the committed entries of all groups, because replicas truncate their logs and the complete log
// defines the expected content of a shard.
type archives struct {
	mu     sync.Mutex
	groups map[string]*archive
}

func newArchives() *archives { return &archives{groups: map[string]*archive{}} }

// of returns the archive of a group.
func (a *archives) of(group string) *archive {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.groups[group] == nil {
		a.groups[group] = &archive{group: group, entries: map[uint64]*raft.Log{}}
	}
	return a.groups[group]
}

// conflicts lists committed entries that differ between two replicas.
func (a *archives) conflicts() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.groups {
		g.mu.Lock()
		out = append(out, g.conflicts...)
		g.mu.Unlock()
	}
	return out
}

// archive contains the committed entries that replicas of a group have removed from the start of their logs.
type archive struct {
	group     string
	mu        sync.Mutex
	entries   map[uint64]*raft.Log
	conflicts []string
}

func (a *archive) put(e *raft.Log) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if have := a.entries[e.Index]; have == nil {
		a.entries[e.Index] = e
	} else if have.Term != e.Term || !bytes.Equal(have.Data, e.Data) {
		a.conflicts = append(a.conflicts,
			fmt.Sprintf("group %s: entry %d has term %d in one log and term %d in another", a.group, e.Index,
				have.Term, e.Term))
	}
}

// upTo returns the entries up to an index, including those in the log of a member that has applied it. It returns
// false if some entries are in no log.
func (a *archive) upTo(index uint64, member *Log) ([]*raft.Log, bool) {
	a.mu.Lock()
	all := maps.Clone(a.entries)
	a.mu.Unlock()
	member.mu.Lock()
	maps.Copy(all, member.entries)
	member.mu.Unlock()
	out := make([]*raft.Log, 0, index)
	for i := uint64(1); i <= index; i++ {
		if all[i] == nil {
			return nil, false
		}
		out = append(out, all[i])
	}
	return out, true
}
