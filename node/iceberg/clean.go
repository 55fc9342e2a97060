package iceberg

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
)

const (
	// cleanEvery is the pause between searches for files that are not needed.
	cleanEvery = time.Hour
	// unneededFor is how long a file must have been unneeded. Snapshots are kept for a day before.
	unneededFor = 24 * time.Hour
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

// removeOld deletes metadata files, manifest lists and manifests that no kept snapshot of a table has needed for a day,
// and that are two days old.
func (c *Committer) removeOld(ctx context.Context) error {
	now := c.cfg.Now()
	if now.Before(c.clean.next) {
		return nil
	}
	needed := map[string]bool{}
	for id, k := range c.tables {
		if k.state == nil {
			continue
		}
		folder := c.folder(id) + "/metadata/"
		needed[folder+"version-hint.text"] = true
		needed[fmt.Sprintf("%sv%d.metadata.json", folder, k.version)] = true
		locations, err := iceberg.Needed(k.state, func(location string) ([]byte, error) {
			key, err := c.key(location)
			if err != nil {
				return nil, err
			}
			return bucket.ReadAll(ctx, c.cfg.Bucket, key, maxFile)
		})
		if err != nil {
			return err
		}
		for _, l := range locations {
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
	for _, key := range remove {
		if err := c.cfg.Bucket.Delete(ctx, key); err != nil {
			return err
		}
		delete(since, key)
	}
	return nil
}
