package wire

import (
	"errors"
	"io"

	"github.com/hashicorp/raft"
)

var errNoPeers = errors.New("this member has no connection to others")

// loopback is the transport of a member without peers: it reaches no other member.
type loopback struct {
	addr raft.ServerAddress
	rpcs chan raft.RPC
}

var (
	_ raft.Transport   = (*loopback)(nil)
	_ raft.WithPreVote = (*loopback)(nil)
)

// Loopback returns the transport of a member that has no peers.
func Loopback(addr raft.ServerAddress) raft.Transport {
	return &loopback{addr: addr, rpcs: make(chan raft.RPC, 1)}
}

func (l *loopback) Consumer() <-chan raft.RPC          { return l.rpcs }
func (l *loopback) LocalAddr() raft.ServerAddress      { return l.addr }
func (l *loopback) SetHeartbeatHandler(func(raft.RPC)) {}

func (l *loopback) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, errNoPeers
}

func (l *loopback) AppendEntries(raft.ServerID, raft.ServerAddress, *raft.AppendEntriesRequest,
	*raft.AppendEntriesResponse,
) error {
	return errNoPeers
}

func (l *loopback) RequestVote(raft.ServerID, raft.ServerAddress, *raft.RequestVoteRequest,
	*raft.RequestVoteResponse,
) error {
	return errNoPeers
}

func (l *loopback) RequestPreVote(raft.ServerID, raft.ServerAddress, *raft.RequestPreVoteRequest,
	*raft.RequestPreVoteResponse,
) error {
	return errNoPeers
}

func (l *loopback) InstallSnapshot(raft.ServerID, raft.ServerAddress, *raft.InstallSnapshotRequest,
	*raft.InstallSnapshotResponse, io.Reader,
) error {
	return errNoPeers
}

func (l *loopback) TimeoutNow(raft.ServerID, raft.ServerAddress, *raft.TimeoutNowRequest,
	*raft.TimeoutNowResponse,
) error {
	return errNoPeers
}

func (l *loopback) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte { return []byte(addr) }

func (l *loopback) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }
