package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"cordwood/node/backup/store"
	"cordwood/proto/backuppb"
	"cordwood/shard/segment"
)

// This file checks the files that a restore needs, before the restore changes anything.

// maxNamedFiles is the maximum number of files that an error lists.
const maxNamedFiles = 10

// DamagedError means that a backup lacks files that a restore needs.
type DamagedError struct{ text string }

func (e *DamagedError) Error() string { return e.text }

// neededFile is a file of the backup that contains rows to restore.
type neededFile struct {
	name   string
	meta   segment.Meta
	sum    []byte
	tables []string
}

// needed returns the files with rows of the tables to fill. It leaves out files whose rows have all expired.
func (s *restoration) needed() (files []*neededFile) {
	for _, shard := range s.b.Shards {
		c := s.reader(shard)
		for _, seg := range shard.Segments {
			if tables := c.readFor(seg); len(tables) > 0 {
				files = append(files, &neededFile{
					name: segmentName(keyOf(s.b.ClusterId, shard, seg.Segment), seg.Sha256),
					meta: segment.FromProto(seg.Segment), sum: seg.Sha256, tables: tables,
				})
			}
		}
	}
	return files
}

// readFor returns the tables to restore whose rows a segment contains.
func (c *shardReader) readFor(seg *backuppb.Segment) (tables []string) {
	for _, span := range spans(seg) {
		t := c.s.byID[span.TableID]
		if t != nil && !t.discarded && span.MaxTime >= c.cutoff(t, seg.Segment.Order) {
			tables = append(tables, t.name())
		}
	}
	return tables
}

// checkFiles checks that the necessary files exist and have the right size. If tables are to be replaced, it also
// reads the files: a user should not learn after hours that a file is damaged.
func (s *restoration) checkFiles(ctx context.Context) error {
	files := s.needed()
	have := map[string]int64{}
	err := s.r.store.List(ctx, segmentPrefix+s.b.ClusterId+"/", func(o store.Object) error {
		have[o.Name] = o.Size
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the files of backup %s: %w", s.b.Id, err)
	}
	var faults fileFaults
	p := s.cfg.Progress
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(s.cfg.Parallel)
	for _, f := range files {
		size, ok := have[f.name]
		switch {
		case !ok:
			faults.add(f, "it is missing")
		case size != f.meta.Bytes:
			faults.add(f, fmt.Sprintf("it has %d bytes, but %d were written", size, f.meta.Bytes))
		case s.cfg.Existing == Replace:
			p.TotalBytes.Add(f.meta.Bytes)
			group.Go(func() error {
				err := s.r.check(gctx, io.Discard, f.name, &f.meta, f.sum, s.cfg.Rate, func(n int) { p.Bytes.Add(int64(n)) })
				if damaged := (*damage)(nil); errors.As(err, &damaged) || errors.Is(err, store.ErrNotFound) {
					faults.add(f, without(f.name, err))
					return nil
				}
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("check backup %s: %w", s.b.Id, err)
	}
	return faults.err(s.b.Id)
}

// fileFaults collects the faults of files, for one error.
type fileFaults struct {
	mu    sync.Mutex // guards texts
	texts []string
}

func (f *fileFaults) add(file *neededFile, text string) {
	tables := strings.Join(file.tables[:min(len(file.tables), maxNamedFiles)], ", ")
	if more := len(file.tables) - maxNamedFiles; more > 0 {
		tables += fmt.Sprintf(" and %d more", more)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, fmt.Sprintf("%s (rows of %s): %s", file.name, tables, text))
}

func (f *fileFaults) err(backup string) error {
	n := len(f.texts)
	if n == 0 {
		return nil
	}
	slices.Sort(f.texts)
	what, list := "files are", strings.Join(f.texts[:min(n, maxNamedFiles)], "; ")
	if n == 1 {
		what = "file is"
	}
	if n > maxNamedFiles {
		list += fmt.Sprintf("; and %d more", n-maxNamedFiles)
	}
	return &DamagedError{
		fmt.Sprintf("backup %s: %d %s missing or damaged, nothing was changed: %s; restore another backup "+
			"(--backup), or choose other tables (--table)", backup, n, what, list),
	}
}
