package replica

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// repeatLost is how often it is said again that a node does not answer.
const repeatLost = time.Minute

// callFailures are what raft says of each call to a node that failed: several a second, in every
// group, while the node is away.
var callFailures = []string{
	"failed to heartbeat to", "failed to appendEntries to", "failed to pipeline appendEntries", "failed to start pipeline replication to",
	"failed to make requestVote RPC", "failed to make preVote RPC", "failed to contact",
}

// callSuccess is what it says of a node that answers again.
const callSuccess = "pipelining replication"

// lostPeers are the nodes that raft could not call: one line is logged for each when it is lost,
// one a minute after that, and one when it answers again, for all groups of a process together.
var lostPeers = &peerLog{last: map[string]time.Time{}}

type peerLog struct {
	mu   sync.Mutex
	last map[string]time.Time // when it was last said
}

// rewrite returns the level and the text with which a message of raft is logged.
func (p *peerLog) rewrite(level slog.Level, msg string, args []any, now time.Time) (slog.Level, string) {
	failed := slices.Contains(callFailures, msg)
	if !failed && msg != callSuccess {
		return level, msg
	}
	peer := peerOf(args)
	p.mu.Lock()
	defer p.mu.Unlock()
	said, lost := p.last[peer]
	switch {
	case peer == "":
		return level, msg
	case !failed && lost:
		delete(p.last, peer)
		return slog.LevelInfo, "a node answers again"
	case !failed:
		return level, msg
	case lost && now.Sub(said) < repeatLost:
		return slog.LevelDebug, msg
	}
	p.last[peer] = now
	if lost {
		return slog.LevelWarn, "a node still does not answer"
	}
	return slog.LevelWarn, "a node does not answer; calls to it are made again and again, and noted once a minute"
}

// peerOf is the id of the node that a message of raft is about.
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
