package raftlogger

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// repeatLost is how often a node that still does not answer is logged again.
const repeatLost = time.Minute

// callFailures are raft's messages about failed calls to a node. While a node is away, every group
// logs several a second.
var callFailures = []string{
	"failed to heartbeat to", "failed to appendEntries to", "failed to pipeline appendEntries",
	"failed to start pipeline replication to",
	"failed to make requestVote RPC", "failed to make preVote RPC", "failed to contact",
}

// callSuccess is raft's message about a node that answers again.
const callSuccess = "pipelining replication"

// Peers records the nodes that raft could not call, for all groups that share it. For each node it
// logs one message when the node is lost, one a minute while it is away, and one when it answers
// again. The methods may be called concurrently.
type Peers struct {
	mu     sync.Mutex
	logged map[string]time.Time // the lost nodes, and when each was last logged
}

// NewPeers returns a Peers in which no node is lost.
func NewPeers() *Peers { return &Peers{logged: map[string]time.Time{}} }

// rewrite returns the level and the text for a message of raft.
func (p *Peers) rewrite(level slog.Level, msg string, args []any, now time.Time) (slog.Level, string) {
	failed := slices.Contains(callFailures, msg)
	if !failed && msg != callSuccess {
		return level, msg
	}
	peer := peerOf(args)
	p.mu.Lock()
	defer p.mu.Unlock()
	logged, lost := p.logged[peer]
	switch {
	case peer == "":
		return level, msg
	case !failed && lost:
		delete(p.logged, peer)
		return slog.LevelInfo, "a node answers again"
	case !failed:
		return level, msg
	case lost && now.Sub(logged) < repeatLost:
		return slog.LevelDebug, msg
	}
	p.logged[peer] = now
	if lost {
		return slog.LevelWarn, "a node still does not answer"
	}
	return slog.LevelWarn, "a node does not answer; calls to it are repeated, and failures are logged once a minute"
}

// peerOf returns the id of the node that a message of raft is about, or an empty text.
func peerOf(args []any) string {
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "peer", "target", "server-id":
			if s, ok := args[i+1].(raft.Server); ok {
				return string(s.ID)
			}
			return fmt.Sprint(args[i+1])
		}
	}
	return ""
}
