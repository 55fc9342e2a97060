package tier

import (
	"context"
	"errors"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/store"
)

// This file drops local segments whose rows are in object storage.

// roomEvery is how often it is seen whether local segments have to make room.
const roomEvery = 5 * time.Second

// makeRoom removes local segments whose rows are in the bucket while there is little space. It does not wait for a
// step, which may be storing objects for long.
func (m *Mover) makeRoom(ctx context.Context) {
	ticker := time.NewTicker(roomEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if m.cfg.Room() {
			continue
		}
		if err := m.dropTwins(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("could not remove local segments whose rows are in object storage, to make room", "error", err)
		}
	}
}

// dropTwins removes local segments whose rows are in objects, and old. Every replica does. While there is little space,
// it also removes younger ones, the oldest first.
func (m *Mover) dropTwins(ctx context.Context) error {
	m.dropping.Lock()
	defer m.dropping.Unlock()
	if m.claim.Disputed() {
		return nil
	}
	m.at("drop")
	for halved := 0; ; halved++ {
		dropped, more, err := m.dropOlder(ctx, halved)
		if dropped || err != nil || !more || m.cfg.Room() || ctx.Err() != nil {
			return err
		}
	}
}

// youngest is the age below which all local segments whose rows are in the bucket make room at once.
const youngest = time.Minute

// always is before the time of every row.
var always = time.Time{}.Add(1)

// dropOlder removes local segments whose rows are in objects, and all older than the time for which the rows of their
// table stay, halved so many times. more reports whether halving it once more could allow others. It looks for the
// objects first, because they may be the only other copy of the rows.
func (m *Mover) dropOlder(ctx context.Context, halved int) (dropped, more bool, err error) {
	now := m.cfg.Now()
	before := func(t *schema.Table) time.Time {
		stay := m.cfg.Tier.localFor(t)
		if stay == 0 {
			return always
		}
		if stay >>= halved; halved > 0 && stay < youngest {
			return time.Time{}
		}
		more = true
		return now.Add(-stay)
	}
	m.look(ctx, m.cfg.Store.Ledger.TwinObjects(before))
	segments, bytes, err := m.cfg.Store.Ledger.DropTwins(before, m.found.has)
	if errors.Is(err, store.ErrReplaced) {
		return false, more, nil // a compaction replaced some of them
	}
	if segments > 0 {
		m.cfg.Logger.Info("removed local segments whose rows are in object storage", "segments", segments, "bytes", bytes)
	}
	return segments > 0, more, err
}
