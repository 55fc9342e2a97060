package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/replica"
	"cordwood/shard/vfs"
)

// TestInstallPowerCut simulates a power loss of a new replica at each of its file operations while
// it installs the state of another one. After a restart it has every row once, and nothing else.
func TestInstallPowerCut(t *testing.T) {
	t.Parallel()
	g := newGroup(t, func(_ string, cfg *Config) { cfg.TrailingBytes, cfg.trailing = 1, 1 }, "n1")
	one := g.leader()
	var want []string
	for i := range uint64(3) {
		text := fmt.Sprint("row", i)
		one.mustPut(batch(head(1, 9, 2*i+1), text), batch(head(2, 9, 2*i+2), text))
		want = append(want, text)
		one.flush()
	}
	step := 3
	if testing.Short() {
		step = 11
	}
	boom := errors.New("the power is cut")
	for n := 1; ; n += step {
		if n > 300 {
			t.Fatal("the test does not end")
		}
		id := fmt.Sprint("new", n)
		node := g.addNode(id)
		disk := vfs.NewMem()
		ctx, hit := context.WithCancel(wait(t))
		var mu sync.Mutex
		count := 0
		g.setup = func(_ string, cfg *Config) {
			cfg.FailStop = func(err error) {
				if !errors.Is(err, boom) {
					t.Error(err)
				}
			}
			cfg.FS = vfs.Hook(disk, func(op vfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				if op.Changes() {
					count++
				}
				if count >= n {
					hit()
					return boom
				}
				return nil
			})
		}
		node.cfg = g.config(id, nil)
		done := false
		if s, err := Open(g.joined(node)); err == nil {
			node.open = &opened{s, t, node.cfg}
			node.setShard(s)
			g.change(one, replica.AddLearner, id)
			index, err := one.ReadBarrier(wait(t))
			if err != nil {
				t.Fatal(err)
			}
			done = s.WaitApplied(ctx, index) == nil && ctx.Err() == nil
			g.stop(id)
		} else if !errors.Is(err, boom) {
			t.Fatal(err)
		} else {
			g.change(one, replica.AddLearner, id)
		}
		hit()
		if !done {
			disk.Crash(n % 100)
		}
		node.cfg.FS = disk
		o := g.open(id, nil)
		g.wantRows(o, 1, want...)
		g.wantRows(o, 2, want...)
		o.flush()
		g.stop(id)
		o = g.open(id, nil)
		if diff := cmp.Diff(want, o.rows(1)); diff != "" {
			t.Errorf("operation %d: after a restart: %s", n, diff)
		}
		if lost := o.Shard.store.Files.Lost.Load(); lost > 0 {
			t.Errorf("operation %d: %d files were set aside", n, lost)
		}
		if live, files := len(o.store.Status.Segments()), len(o.files("segments")); live != files {
			t.Errorf("operation %d: there are %d files of %d segments", n, files, live)
		}
		g.change(one, replica.Remove, id)
		g.stop(id)
		if done {
			t.Logf("%d operations", n)
			return
		}
	}
}
