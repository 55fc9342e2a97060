package simulation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cordwood/meta"
	"cordwood/meta/catalog"
)

// scrubEvery is how often a node verifies its segments; package node does this more slowly.
const scrubEvery = 20 * time.Second

// scrub verifies segments, so that damage is found before the rows are read.
func (p *process) scrub(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(scrubEvery):
		}
		for _, s := range p.host.All() {
			_, _ = s.Verify(nil, func(int) error { return ctx.Err() }) // reports contain the damage
		}
	}
}

// flipBit flips a bit on the disk of one node while it is down. The rows are on other nodes, and no other node is
// damaged in the same run. The damage must be found. The cluster must repair a replica, and the operator must repair
// the metadata.
func (w breaker) flipBit() {
	n := w.anyNode()
	if w.flipped || !n.Up() {
		return
	}
	w.event("crash %s", n.ID)
	n.Crash()
	var what string
	var mend func() error
	must := false // the node may not start
	switch w.rng.IntN(5) {
	case 0:
		what, mend = w.flipState(n)
	case 1:
		what, mend = w.flipLog(n, "meta")
		must = true
	case 2:
		if all := w.shards(); len(all) > 0 {
			s := all[w.rng.IntN(len(all))]
			what, _ = w.flipLog(n, groupName(s.Id, s.Incarnation))
		}
	default:
		what = w.flipFile(n)
	}
	time.Sleep(time.Second)
	if what == "" {
		w.begin(n)
		return
	}
	n.damaged.Store(true)
	w.flipped = true
	w.event("a bit of %s of %s is flipped", what, n.ID)
	if mend == nil {
		w.begin(n)
		return
	}
	// A member of the metadata group is not created again under its id. The node reports the damage and does not
	// start until the operator has restored the file. An unused bit is harmless.
	switch err := n.Start(); {
	case err == nil && must:
		w.violation("%s has started, although a bit of %s was flipped", n.ID, what)
	case err == nil:
		w.event("%s is back", n.ID)
	case !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "damaged") &&
		!errors.Is(err, catalog.ErrUnsupported):
		w.violation("a bit of %s of %s was flipped, and the error does not report it: %v", what, n.ID, err)
	default:
		w.event("%s does not start: %v", n.ID, err)
		time.Sleep(time.Duration(w.rng.Int64N(int64(20 * time.Second))))
		if err := mend(); err != nil {
			w.violation("restore %s of %s: %v", what, n.ID, err)
		}
		w.begin(n)
	}
}

// flipFile flips a bit of a manifest or a segment and returns its name, or "" if there is none.
func (w breaker) flipFile(n *Node) string {
	var files []string
	for _, f := range n.disk.Files(n.shardDir()) {
		if size, err := n.disk.Stat(f); err == nil && size > 0 && (filepath.Base(f) == "MANIFEST" ||
			strings.HasSuffix(f, ".parquet")) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return ""
	}
	name := files[w.rng.IntN(len(files))]
	size, err := n.disk.Stat(name)
	if err == nil {
		err = n.disk.Flip(name, w.rng.Int64N(size))
	}
	if err != nil {
		w.violation("flip a bit of %s: %v", name, err)
	}
	return strings.TrimPrefix(name, w.dir)
}

// flipLog flips a bit of the raft log of a group.
func (w breaker) flipLog(n *Node, group string) (what string, mend func() error) {
	index, back := n.store(group).Flip(w.rng.IntN)
	if index == 0 {
		return "", nil
	}
	w.event("it belongs to entry %d", index)
	return "log " + group, func() error { back(); return nil }
}

// flipState flips a bit of the state of the metadata, if the node has the role meta.
func (w breaker) flipState(n *Node) (what string, mend func() error) {
	name := filepath.Join(n.dir, "meta", meta.StateFile)
	whole, err := os.ReadFile(name)
	if err != nil || len(whole) == 0 {
		return "", nil
	}
	bad := slices.Clone(whole)
	bit := w.rng.IntN(8 * len(bad))
	bad[bit/8] ^= 1 << (bit % 8)
	write := func(b []byte) error { return os.WriteFile(name, b, 0o600) }
	if err := write(bad); err != nil {
		w.violation("flip a bit of %s: %v", name, err)
	}
	return meta.StateFile, func() error { return write(whole) }
}
