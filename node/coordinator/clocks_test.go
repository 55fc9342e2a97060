package coordinator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
)

// TestClosedByOtherClocks lets a table be closed by a leader whose clock is an hour wrong. Writes must wait for
// the usual time.
func TestClosedByOtherClocks(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, 0, time.Hour} {
		for _, late := range []time.Duration{0, time.Hour} {
			t.Run(skew.String()+" late "+late.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t).voting("a").node("a", "b").shard(1, "a").shard(1, "b").table(7,
						map[string]string{"append_mode": "false"}, 1)
					w.skew, w.late = skew, late
					w.request(&metapb.Operation{Kind: operation.TableMove, TableId: 7, ToShards: []uint32{2}})
					var closed time.Time
					run(t, w, 20*time.Minute, func() bool {
						switch now := time.Now(); {
						case !w.copyOf("t7").Writable().Closed:
							closed = time.Time{}
						case closed.IsZero():
							closed = now
						case now.Sub(closed) > closedFor+5*time.Second:
							w.fail("writes waited for %s", now.Sub(closed))
						}
						return w.idle()
					})
					for _, op := range w.ops {
						done := op.State == metapb.OperationState_OPERATION_STATE_DONE
						if done != (late == 0) || !done && !strings.Contains(op.Reason, "writes waited for 6s") {
							t.Errorf("operation: %v", op)
						}
					}
				})
			})
		}
	}
}
