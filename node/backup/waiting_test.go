package backup

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
)

// TestWaitingIsReported checks that a restore reports why it sends rows again, from the first retry: once in the
// log, and in the progress until the shard accepts rows.
func TestWaitingIsReported(t *testing.T) {
	var p Progress
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	full := errs.New(errs.StorageUnavailable, "shard 1: the disk of node n1 is full")
	election := errs.New(errs.ShardNotReady, "no leader").WithReason(errs.NotLeader)
	now := time.Unix(0, 0)
	for _, step := range []struct {
		do     func()
		text   string
		logged int
	}{
		{func() {}, "", 0},
		{func() { p.waiting.failed(log, now, 1, 1, election) }, "", 0},
		{func() { p.waiting.failed(log, now, 1, 1, full) }, "shard 1 accepts no rows: the disk of node n1 is full", 1},
		{func() { p.waiting.failed(log, now, 1, 2, full) }, "shard 1 accepts no rows: the disk of node n1 is full", 1},
		{
			func() { p.waiting.failed(log, now, 2, 3, election) },
			"shard 1 accepts no rows: the disk of node n1 is full (and 1 more)", 2,
		},
		{func() { p.waiting.accepted(1) }, "shard 2 accepts no rows: no leader", 2},
		{
			func() { p.waiting.failed(log, now.Add(repeatAfter), 1, 9, full) },
			"shard 1 accepts no rows: the disk of node n1 is full (and 1 more)", 3,
		},
		{func() { p.waiting.accepted(1); p.waiting.accepted(2) }, "", 3},
	} {
		step.do()
		if got, n := p.Waiting(), strings.Count(out.String(), "\n"); got != step.text || n != step.logged {
			t.Errorf("%q, %d lines of log, want %q, %d", got, n, step.text, step.logged)
		}
	}
	if !strings.Contains(out.String(), `reason="shard 1 accepts no rows: the disk of node n1 is full"`) {
		t.Error(out.String())
	}
}
