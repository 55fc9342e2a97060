package shard

import (
	gocmp "cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/shard/manifest"
)

// TestKeyWindowModel compares the window with a plain map, through the manifest's form too.
func TestKeyWindowModel(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	w := newKeyWindow(nil)
	for i := range uint64(maxKeys + 5000) {
		w.add(batchID{column.KeyedBit, i}, int64(i))
	}
	if w.len() != maxKeys || len(w.ids) != maxKeys || w.has(batchID{column.KeyedBit, 4999}) || !w.has(batchID{column.KeyedBit, 5000}) {
		t.Errorf("%d keys, %d ids, or not the oldest were forgotten", w.len(), len(w.ids))
	}
	if cap(w.keys) > 2*maxKeys || cap(w.free) > 2*maxKeys {
		t.Errorf("there are places for %d, of which %d are free", cap(w.keys), cap(w.free))
	}
}

// TestKeysOfUsers has one user send 300 requests with a key a second, and others some: nobody else's
// keys are forgotten before their time.
func TestKeysOfUsers(t *testing.T) {
	t.Parallel()
	for _, byUser := range []bool{true, false} {
		w := newKeyWindow(nil)
		w.byUser = byUser
		second := int64(time.Second)
		for at := range int64(20 * 60) {
			w.age(at * second)
			for i := range uint64(300) {
				w.add(batchID{column.KeyedByUser(rand.Uint64(), 7), i}, at*second)
			}
			for user := range uint16(20) {
				w.add(batchID{column.KeyedByUser(uint64(at), 100+user), 1}, at*second) //nolint:gosec // small
			}
		}
		lost := 0
		for at := int64(20*60 - 900); at < 20*60; at++ {
			for user := range uint16(20) {
				if !w.has(batchID{column.KeyedByUser(uint64(at), 100+user), 1}) { //nolint:gosec // small
					lost++
				}
			}
		}
		if byUser != (lost == 0) {
			t.Errorf("by users %t: %d keys of the last 15 minutes are lost", byUser, lost)
		}
		if w.len() != maxKeys {
			t.Errorf("%d keys", w.len())
		}
	}
}

// TestKeysOfUsersModel compares the window with a plain list, through the manifest's form too.
func TestKeysOfUsersModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	const most = 50
	w := newKeyWindow(nil)
	w.max = most
	var model []manifest.Key
	now := int64(1e18)
	for step := range 50_000 {
		now += rng.Int64N(int64(40 * time.Second))
		w.age(now)
		for len(model) > 0 && now-model[0].At > int64(keyTTL) {
			model = model[1:]
		}
		w.byUser = rng.IntN(10) > 0
		k := manifest.Key{Session: column.KeyedByUser(rng.Uint64N(40), uint16(rng.ExpFloat64()*2)), Seq: rng.Uint64N(3), At: now} //nolint:gosec // small
		if !slices.ContainsFunc(model, func(m manifest.Key) bool { return m.Session == k.Session && m.Seq == k.Seq }) {
			if len(model) == most {
				model = slices.Delete(model, forgotten(model, w.byUser), forgotten(model, w.byUser)+1)
			}
			model = append(model, k)
		}
		w.add(batchID{k.Session, k.Seq}, k.At)
		if got := w.stored(); !slices.Equal(model, got) {
			t.Fatalf("seed %d, step %d: %s", seed, step, cmp.Diff(model, got))
		}
		if step%97 == 0 {
			w = newKeyWindow(w.stored())
			w.max = most
		}
	}
}

// forgotten is the place of the key that goes.
func forgotten(keys []manifest.Key, byUser bool) int {
	if !byUser {
		return 0
	}
	count := map[uint16]int{}
	for _, k := range keys {
		count[column.KeyedUser(k.Session)]++
	}
	most := slices.MinFunc(slices.Collect(maps.Keys(count)), func(a, b uint16) int {
		return gocmp.Or(gocmp.Compare(count[b], count[a]), gocmp.Compare(a, b))
	})
	return slices.IndexFunc(keys, func(k manifest.Key) bool { return column.KeyedUser(k.Session) == most })
}

// TestKeysByUserSince: entries say how keys are forgotten, once all nodes know that.
func TestKeysByUserSince(t *testing.T) {
	t.Parallel()
	var version atomic.Uint32
	version.Store(metapb.ProtocolKeyUsers - 1)
	cfg := testConfig(t)
	cfg.ClusterVersion = version.Load
	s := openShard(t, cfg)
	see := func(want bool) {
		t.Helper()
		s.mu.RLock()
		defer s.mu.RUnlock()
		if s.state.keys.byUser != want {
			t.Errorf("by users: %t, want %t", s.state.keys.byUser, want)
		}
	}
	s.mustPut(batch(head(1, 9, 1), "x"))
	see(false)
	version.Store(metapb.ProtocolKeyUsers)
	s.mustPut(batch(head(1, 9, 2), "y"))
	see(true)
	s = s.reopen()
	see(true)
}

// TestKeys: a batch of a request with a key is appended once, also when the shard was
// killed, or flushed and started again, in between.
func TestKeys(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
