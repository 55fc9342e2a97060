package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
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

// TestKeyWithAnotherBody: a request's key with another body is refused with 422 before anything
// of it is appended, as long as the key is remembered; after a restart and a flush too.
func TestKeyWithAnotherBody(t *testing.T) {
	s := openShard(t, testConfig(t))
	key := func(body uint64, rest uint32) []byte {
		return batch(head(1, column.KeyedBit|5, column.KeyedSeq(body<<32, rest)), fmt.Sprint("body ", body))
	}
	s.mustPut(key(1, 7))
	refused := func() {
		t.Helper()
		for _, other := range [][][]byte{{key(2, 7)}, {key(2, 8)}, {batch(head(1, column.KeyedBit|6, 1), "beside"), key(2, 7)}} {
			_, err := s.put(other...)
			if errs.From(err).Status() != 422 || errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "Idempotency-Key") {
				t.Errorf("another body: %v", err)
			}
		}
		if diff := cmp.Diff([]string{"body 1"}, s.rows(1)); diff != "" {
			t.Error(diff)
		}
	}
	refused()
	s.mustPut(key(1, 7)) // the same again
	refused()
	s = s.reopen()
	refused()
	s.flush()
	s = s.reopen()
	refused()
	s.mustPut(key(1, 8)) // the same body that was cut in another way
	if got := len(s.rows(1)); got != 2 {
		t.Errorf("%d rows", got)
	}
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
