package tier

import (
	"context"
	"slices"

	"cordwood/shard/cold/states"
)

// This file deletes pieces of the log that are not needed any more.

// pruneLog deletes pieces that neither of the last two states needs that this leader has stored.
func (m *Mover) pruneLog(ctx context.Context, term uint64) error {
	keep := min(m.stored.logFrom, m.stored.logFromBefore)
	if keep == 0 {
		return nil
	}
	s := &m.ship
	s.mu.Lock()
	// Batches of needed entries may have been appended before. So what was stored shortly before these stays, too.
	before := m.cfg.Now()
	for _, p := range s.pieces {
		if p.Incarnation == m.cfg.Incarnation && p.Last >= keep && p.Modified.Before(before) {
			before = p.Modified
		}
	}
	before = before.Add(-m.cfg.Tier.LogGrace)
	var old []states.Piece
	for _, p := range s.pieces {
		unneeded := p.Incarnation < m.cfg.Incarnation || p.Incarnation == m.cfg.Incarnation && p.Last < keep
		if unneeded && p.Modified.Before(before) && len(old) < maxDeletes {
			old = append(old, p)
		}
	}
	s.mu.Unlock()
	return m.deletePieces(ctx, term, old)
}

// deleteLog deletes the whole log of the shard in the bucket, after it was decided not to ship it any more.
func (m *Mover) deleteLog(ctx context.Context, term uint64) error {
	if m.stored.term != term {
		return nil // the last state may need it
	}
	pieces, err := m.place.Log(ctx, m.cfg.ShardID)
	if err != nil {
		return err
	}
	before := m.cfg.Now().Add(-m.cfg.Tier.OrphanAge)
	pieces = slices.DeleteFunc(pieces, func(p states.Piece) bool {
		return p.Incarnation > m.cfg.Incarnation || !p.Modified.Before(before)
	})
	return m.deletePieces(ctx, term, pieces[:min(len(pieces), maxDeletes)])
}

// deletePieces deletes pieces, and notes where the log in the bucket begins then.
func (m *Mover) deletePieces(ctx context.Context, term uint64, old []states.Piece) error {
	if len(old) == 0 {
		return nil
	}
	if err := m.mayDelete(ctx, term); err != nil {
		return err
	}
	keys := make([]string, len(old))
	for i := range old {
		keys[i] = old[i].Key
	}
	gone, err := m.deleteAll(ctx, keys)
	deleted := make(map[string]bool, len(gone))
	for _, key := range gone {
		deleted[key] = true
	}
	s := &m.ship
	s.mu.Lock()
	s.pieces = slices.DeleteFunc(s.pieces, func(p states.Piece) bool { return deleted[p.Key] })
	if s.term != 0 {
		s.start = max(s.start, states.LogStart(m.ownPieces(s.pieces), s.next))
	}
	s.mu.Unlock()
	if len(gone) > 0 {
		m.cfg.Logger.Debug("deleted pieces of the log in object storage", "objects", len(gone))
	}
	return err
}

// ownPieces returns the pieces of this incarnation of the shard.
func (m *Mover) ownPieces(list []states.Piece) []states.Piece {
	return slices.DeleteFunc(slices.Clone(list), func(p states.Piece) bool { return p.Incarnation != m.cfg.Incarnation })
}
