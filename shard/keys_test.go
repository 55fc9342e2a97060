package shard

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schemapb"
	"cordwood/shard/manifest"
)

// TestKeyWindowModel compares the window with a plain map, through the manifest's form too.
func TestKeyWindowModel(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	st := mustState(t, testShard, &manifest.State{})
	model := map[uint64]int64{}
	now := int64(1e18)
	for step := range 20_000 {
		now += rng.Int64N(int64(4 * time.Second))
		st.tick(now - rng.Int64N(int64(time.Second))) // a leader's clock may be behind
		h := column.Header{Session: column.KeyedBit | 3, Seq: rng.Uint64N(600)}
		at, ok := model[h.Seq]
		want := ok && st.clock-at <= int64(keyTTL)
		if got, known := st.seen(&h); got != want || !known {
			t.Fatalf("seed %d, step %d: appended %t, known %t, want %t", seed, step, got, known, want)
		}
		if !want {
			st.note(&h)
			model[h.Seq] = st.clock
		}
		if step%997 == 0 {
			st = mustState(t, testShard, &manifest.State{Clock: st.clock, Keys: st.keys.stored()})
		}
	}
	if len(st.sessions) != 0 {
		t.Errorf("%d sessions of writers", len(st.sessions))
	}
}

func TestKeysAreBounded(t *testing.T) {
	w := newKeyWindow(nil)
	for i := range uint64(maxKeys + 5000) {
		w.add(batchID{column.KeyedBit, i}, int64(i))
	}
	if w.len() != maxKeys || len(w.ids) != maxKeys || w.has(batchID{column.KeyedBit, 4999}) || !w.has(batchID{column.KeyedBit, 5000}) {
		t.Errorf("%d keys, %d ids, or not the oldest were forgotten", w.len(), len(w.ids))
	}
	if cap(w.queue) > 4*maxKeys {
		t.Errorf("the queue keeps room for %d", cap(w.queue))
	}
}

// TestKeys: a batch of a request with a key is appended once, also when the shard was
// killed, or flushed and started again, in between.
func TestKeys(t *testing.T) {
	s := openShard(t, testConfig(t))
	key := func(session uint64) []byte { return batch(head(1, column.KeyedBit|session, 7), "m") }
	s.mustPut(key(1))
	s.mustPut(key(1))
	s.mustPut(key(1), key(2), key(2))
	see := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.rows(1)); diff != "" {
			t.Error(diff)
		}
	}
	see("m", "m")
	s = s.reopen()
	s.mustPut(key(2))
	see("m", "m")
	s.flush()
	s = s.reopen()
	s.mustPut(key(1), key(2))
	see("m", "m")
	if !s.HasKey(column.KeyedBit|2, 7) || s.HasKey(column.KeyedBit|3, 7) {
		t.Error("HasKey tells something else")
	}
	later := entry{kind: kindDefine, time: time.Now().Add(keyTTL + time.Minute).UnixNano()}
	if _, err := s.Shard.replica.Propose(wait(t), appendEntry(nil, &later)); err != nil {
		t.Fatal(err)
	}
	s.mustPut(key(1))
	see("m", "m", "m")
}

// TestKeysOfUnloggedTables: batches with a key go through the log whatever their table.
func TestKeysOfUnloggedTables(t *testing.T) {
	s := openShard(t, testConfig(t))
	b := batch(head(1, column.KeyedBit|1, 1), "m")
	for range 2 {
		if _, need, err := s.Write(context.Background(), [][]byte{b}, []*schemapb.Table{skipDef(1)}); err != nil || len(need) > 0 {
			t.Fatal(need, err)
		}
		s = s.reopen()
	}
	if diff := cmp.Diff([]string{"m"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
}
