package simulation

import (
	"context"
	"path/filepath"
	"strings"
	"time"
)

// scrubEvery is how often a node reads its segments through, as package node has it do more
// slowly.
const scrubEvery = 20 * time.Second

// scrub reads segments through, so that damage is found before somebody asks for the rows.
func (p *process) scrub(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(scrubEvery):
		}
		for _, s := range p.host.All() {
			_, _ = s.Verify(nil, func(int) error { return ctx.Err() }) // what was found is in the report
		}
	}
}

// flipBit flips a bit of a manifest or a segment of one node while it is down. The rows are
// on other nodes, and no other node is damaged in the same run: the cluster must find it, and
// make the replica anew.
func (w *World) flipBit() {
	n := w.anyNode()
	if w.flipped || !n.Up() {
		return
	}
	w.event("crash %s", n.ID)
	n.Crash()
	var files []string
	for _, f := range n.disk.Files(n.shardDir()) {
		if filepath.Base(f) == "MANIFEST" || strings.HasSuffix(f, ".parquet") {
			files = append(files, f)
		}
	}
	if len(files) > 0 {
		name := files[w.rng.IntN(len(files))]
		if size, err := n.disk.Stat(name); err == nil && size > 0 {
			at := w.rng.Int64N(size)
			n.damaged.Store(true)
			w.flipped = true
			w.event("a bit of %s is flipped at offset %d: %v", strings.TrimPrefix(name, w.dir), at, n.disk.Flip(name, at))
		}
	}
	time.Sleep(time.Second)
	w.begin(n)
}
