package simulation

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"cordwood/shard/vfs"
)

// diskCopy is a copy of a node's disks, made while the node was down.
type diskCopy struct {
	node    *Node
	made    time.Time
	disk    *vfs.Mem
	logs    map[string]*Log
	created map[uint32]bool
	hasMeta bool
	dir     string // folder with the files on a real disk
}

// copyDisk copies the disk of a node that is down.
func (n *Node) copyDisk() (*diskCopy, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &diskCopy{
		node: n, made: time.Now(), disk: n.disk.Copy(), logs: map[string]*Log{}, created: maps.Clone(n.created),
		hasMeta: n.hasMeta,
		dir:     n.dir + ".copy",
	}
	for group, l := range n.logs {
		c.logs[group] = l.copy()
	}
	if err := os.CopyFS(c.dir, os.DirFS(n.dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return c, nil
}

// restoreLogs replaces the shard logs of the node, which is down, with those of the copy.
func (c *diskCopy) restoreLogs() {
	n := c.node
	n.mu.Lock()
	defer n.mu.Unlock()
	for group, l := range c.logs {
		if group != "meta" && n.logs[group] != nil {
			n.logs[group].setBack(l)
		}
	}
}

// restore replaces all disks of the node with the copy.
func (c *diskCopy) restore() error {
	n := c.node
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disk.SetBack(c.disk)
	for group, l := range n.logs {
		if c.logs[group] == nil {
			l.setBack(NewLog())
		}
	}
	for group, l := range c.logs {
		if n.logs[group] == nil {
			n.logs[group] = n.newLog(group)
		}
		n.logs[group].setBack(l)
	}
	n.created, n.hasMeta = maps.Clone(c.created), c.hasMeta
	if err := os.RemoveAll(n.dir); err != nil {
		return err
	}
	if _, err := os.Stat(c.dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return os.CopyFS(n.dir, os.DirFS(c.dir))
}

// settle is the maximum time until all acknowledged rows are on all replicas of a healthy cluster.
const settle = 10 * time.Second

// setBack copies the disk of a node. When it is called again, it replaces the disk with the copy. This happens to
// only one disk in a run, while all others are intact and have all acknowledged rows. No row may be lost, no reader
// may see less than before, and the replicas must agree in the end. The node may end itself, or be created again.
func (w breaker) setBack() {
	if w.flipped {
		return
	}
	if w.copied == nil {
		n := w.anyNode()
		if !n.Up() {
			return
		}
		n.Crash()
		c, err := n.copyDisk()
		if err != nil {
			w.violation("copy the disk of %s: %v", n.ID, err)
		}
		w.copied = c
		w.event("crash %s, whose disk is copied", n.ID)
		time.Sleep(time.Second)
		w.begin(n)
		return
	}
	c := w.copied
	n := c.node
	if w.heal(); !w.awaitSettled(nil) {
		return
	}
	w.flipped = true // no other disk is damaged
	n.damaged.Store(true)
	n.Crash()
	w.event("crash %s, whose disk is replaced with a copy of %s ago", n.ID, time.Since(c.made).Round(time.Second))
	w.awaitSettled(n)
	if w.rng.IntN(3) == 0 {
		w.event("only the logs of shards are replaced")
		c.restoreLogs()
	} else if err := c.restore(); err != nil {
		w.violation("replace the disk of %s with the copy: %v", n.ID, err)
	}
	w.begin(n)
	w.awaitSettled(nil)
}

// awaitSettled waits until the metadata and all shards have leaders, and all replicas on the other
// nodes have all acknowledged rows. No other fault occurs until then. It reports whether it
// succeeded.
func (w breaker) awaitSettled(without *Node) bool {
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Second) {
		if why := w.laggingMember(without); why == "" {
			time.Sleep(settle)
			if why = w.laggingMember(without); why == "" {
				return true
			}
		}
	}
	return false
}

// laggingMember describes a member that is behind its leader, or returns "".
func (w breaker) laggingMember(without *Node) string {
	if w.metaLeader() == nil {
		return "the metadata have no leader"
	}
	for _, s := range w.shards() {
		_, leader := w.leader(s.Id)
		if leader == nil {
			return fmt.Sprintf("shard %d has no leader", s.Id)
		}
		at := leader.Report().AppliedIndex
		time.Sleep(500 * time.Millisecond)
		for _, id := range s.Replicas {
			n := w.node(id)
			if n == nil || n == without {
				continue
			}
			if r := n.shard(s.Id); r == nil || r.Report().AppliedIndex < at {
				return fmt.Sprintf("shard %d on %s is behind", s.Id, id)
			}
		}
	}
	return ""
}
