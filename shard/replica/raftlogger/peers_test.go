package raftlogger

import (
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestLostPeerIsNotedOnce checks that all messages about an unreachable node, from all groups,
// become one message when the node is lost, one a minute, and one when it is back.
func TestLostPeerIsNotedOnce(t *testing.T) {
	p := NewPeers()
	now := time.Unix(1000, 0)
	warned, noted := 0, 0
	say := func(level slog.Level, msg string, args ...any) {
		switch got, _ := p.rewrite(level, msg, args, now); {
		case got >= slog.LevelWarn:
			warned++
		case got == slog.LevelInfo:
			noted++
		}
	}
	for i := range 1200 { // two minutes
		now = time.Unix(1000, 0).Add(time.Duration(i) * 100 * time.Millisecond)
		say(slog.LevelError, "failed to heartbeat to", "peer", raft.ServerAddress("n2"), "error", "refused")
		say(slog.LevelError, "failed to appendEntries to", "peer", raft.Server{ID: "n2"}, "error", "refused")
		say(slog.LevelError, "failed to make requestVote RPC", "target", raft.Server{ID: "n2"})
		say(slog.LevelWarn, "failed to contact", "server-id", raft.ServerID("n2"))
	}
	if warned != 2 || noted != 0 {
		t.Errorf("%d warnings and %d info messages in two minutes, want 2 and 0", warned, noted)
	}
	for range 2 {
		say(slog.LevelDebug, "pipelining replication", "peer", raft.Server{ID: "n2"})
	}
	if warned != 2 || noted != 1 {
		t.Errorf("%d warnings and %d info messages when it is back, want 2 and 1", warned, noted)
	}
	say(slog.LevelError, "failed to heartbeat to", "peer", raft.ServerAddress("n2"))
	say(slog.LevelError, "failed to heartbeat to", "peer", raft.ServerAddress("n3"))
	say(slog.LevelError, "failed to commit logs", "error", "disk")
	if warned != 5 {
		t.Errorf("%d warnings, want 5: two more lost nodes, and one message about no node", warned)
	}
}
