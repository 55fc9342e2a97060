package shard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/shard/rules"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	q := newQueue(testShard, 1000, 4)
	p := func(bytes int) *pending { return &pending{bytes: bytes, done: make(chan struct{})} }
	big := p(5000)
	if err := q.push(big); err != nil {
		t.Errorf("an empty queue refuses a large write: %v", err)
	}
	if err := q.push(p(1)); err == nil || !strings.Contains(err.Error(), "1 writes of 5000 bytes wait") {
		t.Errorf("over the limit of bytes: %v", err)
	}
	if got := q.pop(10); len(got) != 1 || got[0] != big {
		t.Error("a write above the group's size is not alone")
	}
	list := []*pending{p(100), p(200), p(300), p(50)}
	for _, x := range list {
		if err := q.push(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.push(p(1)); err == nil {
		t.Error("over the limit of writes")
	}
	if !q.remove(list[1]) || q.remove(list[1]) || q.remove(big) {
		t.Error("remove")
	}
	if got := q.pop(400); len(got) != 2 || got[0] != list[0] || got[1] != list[2] {
		t.Errorf("group of %d", len(got))
	}
	q.close()
	if got := q.pop(400); len(got) != 1 || got[0] != list[3] {
		t.Error("a closed queue loses its writes")
	}
	if got := q.pop(400); got != nil || q.push(p(1)) == nil || q.size() != 0 {
		t.Error("a closed and empty queue returns writes")
	}
}

// TestQueueOfDatabases: a flood of a database fills the queue, and a write of another one is still taken, and is the
// next.
func TestQueueOfDatabases(t *testing.T) {
	t.Parallel()
	q := newQueue(testShard, 1000, 100)
	p := func(database string, bytes int) *pending { return &pending{database: database, bytes: bytes} }
	for range 10 {
		if err := q.push(p("a", 100)); err != nil {
			t.Fatal(err)
		}
	}
	if q.push(p("a", 1)) == nil {
		t.Error("the flood is not bounded")
	}
	q.pop(100)
	if err := q.push(p("b", 400)); err != nil {
		t.Errorf("b finds no room: %v", err)
	}
	if err := q.push(p("b", 20)); err != nil {
		t.Errorf("b has no equal part: %v", err)
	}
	var order []string
	for range 5 {
		for _, w := range q.pop(100) {
			order = append(order, fmt.Sprint(w.database, w.bytes))
		}
	}
	if diff := cmp.Diff([]string{"b400", "a100", "a100", "a100", "a100"}, order); diff != "" {
		t.Error(diff)
	}
	if order := q.pop(1000); order[0].database != "b" {
		t.Errorf("after 400 bytes of each, %s is the next", order[0].database)
	}
}

// TestHaltsOnBadEntry puts entries into the log that no leader proposes.
func TestHaltsOnBadEntry(t *testing.T) {
	t.Parallel()
	table, err := proto.Marshal(def(1))
	if err != nil {
		t.Fatal(err)
	}
	damaged := batch(head(1, 9, 1), "a")
	damaged[20] ^= 1
	tests := map[string][]byte{
		"garbage":         []byte("garbage that is long enough"),
		"a newer version": append([]byte{9}, rules.AppendEntry(nil, &rules.Entry{Kind: rules.KindDropTable})[1:]...),
		"a damaged batch": rules.AppendEntry(nil, &rules.Entry{
			Kind:   rules.KindWrite,
			Writes: []rules.Write{{Tables: [][]byte{table}, Batches: [][]byte{damaged}}},
		}),
		"a bad table": rules.AppendEntry(nil, &rules.Entry{
			Kind:   rules.KindWrite,
			Writes: []rules.Write{{Tables: [][]byte{{0xff}}}},
		}),
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			cfg := testConfig(t)
			cfg.FailStop = func(err error) { failed <- err }
			s := openShard(t, cfg)
			s.mustPut(batch(head(1, 9, 77), "good"))
			if _, err := s.Shard.replica.Propose(wait(t), data); err == nil {
				t.Error("the entry was accepted")
			}
			select {
			case err := <-failed:
				if !strings.Contains(err.Error(), "shard 7: entry ") {
					t.Errorf("got %v", err)
				}
			case <-wait(t).Done():
				t.Fatal("the replica did not stop")
			}
			if _, err := s.put(batch(head(1, 9, 78), "later")); err == nil {
				t.Error("a write to the stopped replica is accepted")
			}
			if diff := cmp.Diff([]string{"good"}, s.rows(1)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDecodedOnce checks that Apply uses the batches that were decoded before the write was
// proposed, and needs no further memory for them. It relies on raft passing on the same slice.
func TestDecodedOnce(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "definition"))
	messages := make([]string, 20_000)
	for i := range messages {
		messages[i] = fmt.Sprint("a message of some length ", i)
	}
	data := batch(head(1, 9, 2), messages...)
	size, err := column.InflatedSize(data)
	if err != nil {
		t.Fatal(err)
	}
	before := s.store.Memory.Size()
	s.mustPut(data)
	if used := s.store.Memory.Size() - before; used < int64(size) || used >= 2*int64(size) {
		t.Errorf("a write of %d bytes takes %d bytes of the memtable", size, used)
	}
}
