package simulation

import (
	"context"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/transport"
	"cordwood/shard/rules"
)

// swapped is the transport of a member that receives other entries than the leader sent. It implements the mutant
// SwapEntry.
type swapped struct {
	*transport.Transport
	rpcs chan raft.RPC
}

// Consumer returns the channel with the requests of other members.
func (s *swapped) Consumer() <-chan raft.RPC { return s.rpcs }

// swapEntries replaces the data of some commands with the data of the previous command, until ctx ends.
func swapEntries(ctx context.Context, t *transport.Transport) raft.Transport {
	var before []byte
	return alterEntries(ctx, t, func(e *raft.Log) {
		if e.Index%25 == 0 && before != nil {
			e.Data = before
		}
		before = e.Data
	})
}

// alterEntries calls alter with each command that the leader sends, until ctx ends.
func alterEntries(ctx context.Context, t *transport.Transport, alter func(*raft.Log)) raft.Transport {
	s := &swapped{Transport: t, rpcs: make(chan raft.RPC)}
	go func() {
		for {
			var rpc raft.RPC
			select {
			case rpc = <-t.Consumer():
			case <-ctx.Done():
				return
			}
			if req, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
				for _, e := range req.Entries {
					if e.Type == raft.LogCommand {
						alter(e)
					}
				}
			}
			select {
			case s.rpcs <- rpc:
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

// shortJoin alters the first join of objects: the first cut is missing, and the numbers of rows are those of the rest.
// So the rows of this cut are in its objects and in the new ones. It implements the mutant ShortJoin.
type shortJoin struct {
	rows    map[uint64]int64 // in objects, by cut
	number  uint64           // of the join; 0 before it
	missing int64
}

func (s *shortJoin) alter(l *raft.Log) {
	e, err := rules.DecodeEntry(l.Data)
	if err != nil {
		return
	}
	switch {
	case e.Kind == rules.KindJoin && (s.number == 0 || s.number == e.Join.Number):
		t := &e.Join.Tables[0]
		s.number, s.missing = e.Join.Number, s.rows[t.Cuts[0]]
		t.Cuts = t.Cuts[1:]
	case e.Kind == rules.KindOffload && e.Offload.Number == s.number && len(e.Offload.Objects) > 0:
		m := &e.Offload.Objects[0].Meta
		m.Rows -= s.missing
		if m.Shared() {
			m.Tables[0].Rows -= s.missing
		}
		e.Offload.Tables[0].Kept -= s.missing
	case e.Kind == rules.KindOffload:
		n := int64(0)
		for i := range e.Offload.Objects {
			n += e.Offload.Objects[i].Meta.Rows
		}
		s.rows[e.Offload.Number] = n
		return
	default:
		return
	}
	l.Data = rules.AppendEntry(nil, e)
}
