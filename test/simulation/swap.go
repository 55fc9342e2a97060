package simulation

import (
	"context"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/transport"
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
	s := &swapped{Transport: t, rpcs: make(chan raft.RPC)}
	go func() {
		var before []byte
		for {
			var rpc raft.RPC
			select {
			case rpc = <-t.Consumer():
			case <-ctx.Done():
				return
			}
			if req, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
				for _, e := range req.Entries {
					if e.Type != raft.LogCommand {
						continue
					}
					if e.Index%25 == 0 && before != nil {
						e.Data = before
					}
					before = e.Data
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
