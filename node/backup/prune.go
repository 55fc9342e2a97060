package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/node/backup/store"
)

// Delete removes backups. Their files stay until Prune, since other backups may need them.
func (r *Repository) Delete(ctx context.Context, ids ...string) error {
	held, err := r.lock(ctx, lockPrune) // a restore may be reading the backups
	if err != nil {
		return err
	}
	defer held.release()
	have, err := r.ids(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.Contains(have, id) {
			return fmt.Errorf("there is no backup %s in %s; nothing was deleted", id, r.Location())
		}
	}
	for _, id := range ids {
		if err := r.store.Remove(ctx, manifestName(id)); err != nil {
			return fmt.Errorf("delete backup %s: %w", id, err)
		}
	}
	return nil
}

// PruneConfig configures Prune.
type PruneConfig struct {
	// If KeepLast or KeepWithin is set, Prune deletes the backups that are neither among the newest KeepLast nor
	// younger than KeepWithin.
	KeepLast   int
	KeepWithin time.Duration
	// DryRun makes Prune only report what it would remove.
	DryRun bool
}

// Pruned is the result of Prune.
type Pruned struct {
	Backups []string `json:"backups"`
	Objects int64    `json:"objects"`
	Bytes   int64    `json:"bytes"`
}

// Prune removes files that no backup needs. While another process uses the repository, Prune returns ErrBusy and
// changes nothing; while Prune works, no other process can start. It also changes nothing if a manifest cannot be
// read, because the files that this backup needs are unknown then.
func (r *Repository) Prune(ctx context.Context, cfg PruneConfig) (*Pruned, error) {
	held, err := r.lock(ctx, lockPrune)
	if err != nil {
		return nil, err
	}
	defer held.release()
	list, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	out := &Pruned{Backups: []string{}}
	needed := map[string]bool{}
	for i, s := range list {
		if s.Fault != "" {
			return nil, fmt.Errorf("the manifest of backup %s cannot be read, so nothing is removed: %s; delete the backup "+
				"first if "+
				"you give it up", s.ID, s.Fault)
		}
		if cfg.drops(s, len(list)-i, r.now()) {
			out.Backups = append(out.Backups, s.ID)
			continue
		}
		if err := r.needs(ctx, s.ID, needed); err != nil {
			return nil, err
		}
	}
	var garbage []store.Object
	if err := r.store.List(ctx, "", func(o store.Object) error {
		if !needed[o.Name] && r.removable(o) {
			garbage = append(garbage, o)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return out, r.discard(ctx, cfg, garbage, out)
}

// discard deletes the backups in out and then garbage, and counts the deleted objects.
func (r *Repository) discard(ctx context.Context, cfg PruneConfig, garbage []store.Object, out *Pruned) error {
	if !cfg.DryRun {
		for _, id := range out.Backups {
			if err := r.store.Remove(ctx, manifestName(id)); err != nil {
				return fmt.Errorf("delete backup %s: %w", id, err)
			}
		}
	}
	for _, o := range garbage {
		if !cfg.DryRun {
			if err := errors.Join(ctx.Err(), r.store.Remove(ctx, o.Name)); err != nil {
				return fmt.Errorf("remove %s: %w", o.Name, err)
			}
		}
		out.Objects++
		out.Bytes += o.Size
	}
	return nil
}

// drops reports whether a backup is deleted. fromEnd is its position, counted from the newest.
func (c PruneConfig) drops(s Summary, fromEnd int, now time.Time) bool {
	if c.KeepLast <= 0 && c.KeepWithin <= 0 {
		return false
	}
	return fromEnd > c.KeepLast && (c.KeepWithin <= 0 || now.Sub(s.Started) > c.KeepWithin)
}

// needs adds the names of all objects that a backup needs.
func (r *Repository) needs(ctx context.Context, id string, needed map[string]bool) error {
	b, err := r.load(ctx, id)
	if err != nil {
		return err
	}
	needed[b.Metadata.Name] = true
	for _, s := range b.Shards {
		for _, seg := range s.Segments {
			needed[segmentName(keyOf(b.ClusterId, s, seg.Segment), seg.Sha256)] = true
		}
	}
	return nil
}

// removable reports whether an object that no backup needs may be removed. Files of an upload are kept for a day,
// since the upload may still be running.
func (r *Repository) removable(o store.Object) bool {
	if _, _, ok := parseSegmentName(o.Name); ok || metadataNames.MatchString(o.Name) {
		return true
	}
	return strings.HasPrefix(o.Name, tempPrefix) && r.now().Sub(o.Modified) > 24*time.Hour
}
