package replica

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// snapshotLook is how often a member looks whether its log has grown enough to be cut; up to
// as much again is added by chance, so that members do not all do it at once.
const snapshotLook = 2 * time.Minute

// takeSnapshots takes a snapshot whenever Config.SnapshotEvery entries have come since the
// newest one, until the member ends. The library could do this by itself, but it would do it
// while a snapshot of another member is installed as well: its snapshot waits for the main loop,
// which waits for the state machine to restore, which waits for whoever has frozen the state.
// None of the three would ever go on.
func (r *Replica) takeSnapshots() {
	for {
		select {
		case <-r.ended:
			return
		case <-time.After(snapshotLook + rand.N(snapshotLook)):
		}
		newest, err := strconv.ParseUint(r.raft.Stats()["last_snapshot_index"], 10, 64)
		if err == nil && r.raft.LastIndex()-min(newest, r.raft.LastIndex()) < r.cfg.SnapshotEvery {
			continue
		}
		if err := r.Snapshot(); err != nil && r.failure() == nil {
			r.cfg.Logger.Warn("the log was not cut; it is tried again", "group", r.cfg.Group, "error", err)
		}
	}
}
