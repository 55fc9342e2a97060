package iceberg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
)

const (
	// cleanEvery is the pause between searches for files that are not needed.
	cleanEvery = time.Hour
	// unneededFor is how long a file must have been unneeded. A manifest of which only an older snapshot needs counts
	// as unneeded: such a snapshot is kept for up to 25 hours, and a reader may have another day.
	unneededFor = 50 * time.Hour
	// maxDeleted is the maximum number of files that are deleted at a time, and maxNoted of files that are remembered.
	maxDeleted, maxNoted = 10_000, 1_000_000
)

// cleaner finds files that no table needs.
type cleaner struct {
	next time.Time
	// done says that the last search found nothing that is to be deleted later.
	done bool
	// since says since when files have not been needed.
	since map[string]time.Time
}

// removeOld deletes files that the current state of no table has needed for two days, and that are two days old. It
// also stores version-hint.text again where a node that no longer coordinates has replaced it.
func (c *Committer) removeOld(ctx context.Context) error {
	now := c.cfg.Now()
	if now.Before(c.clean.next) {
		return nil
	}
	if err := c.checkHints(ctx); err != nil {
		return err
	}
	needed := map[string]bool{}
	for id, k := range c.tables {
		if k.state == nil {
			continue
		}
		folder := c.folder(id) + "/metadata/"
		needed[folder+hintName] = true
		needed[fmt.Sprintf("%sv%d.metadata.json", folder, k.version)] = true
		for _, l := range k.state.Needed() {
			key, err := c.key(l)
			if err != nil {
				return err
			}
			needed[key] = true
		}
	}
	c.clean.next = now.Add(cleanEvery)
	since := make(map[string]time.Time)
	var remove []string
	err := c.cfg.Bucket.List(ctx, c.cfg.Cluster+"/iceberg/", func(i bucket.Info) error {
		if needed[i.Key] || !strings.Contains(i.Key, "/metadata/") || len(since) >= maxNoted {
			return nil
		}
		first, ok := c.clean.since[i.Key]
		if !ok {
			first = now
		}
		since[i.Key] = first
		if now.Sub(first) >= unneededFor && now.Sub(i.Modified) >= iceberg.KeepFiles && len(remove) < maxDeleted {
			remove = append(remove, i.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.clean.since, c.clean.done = since, len(since) == 0
	if err := c.remove(ctx, remove); err != nil {
		return err
	}
	for _, key := range remove {
		delete(since, key)
	}
	return nil
}

// checkHints compares the files version-hint.text with the commits.
func (c *Committer) checkHints(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(filesAtOnce)
	for id, k := range c.tables {
		if k.state == nil {
			continue
		}
		g.Go(func() error {
			key := c.folder(id) + "/metadata/" + hintName
			b, err := bucket.ReadAll(ctx, c.cfg.Bucket, key, maxHint)
			if err != nil && !errors.Is(err, bucket.ErrNotFound) {
				return err
			}
			if string(b) == strconv.FormatUint(k.version, 10) {
				return nil
			}
			k.hinted = 0
			return c.hint(ctx, id, k)
		})
	}
	return g.Wait()
}
