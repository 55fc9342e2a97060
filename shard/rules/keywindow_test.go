package rules

import (
	gocmp "cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/shard/manifest"
)

// TestKeyWindowModel compares the window with a map, also after storing it in the manifest and
// loading it.
func TestKeyWindowModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	st := stateOf(t, shardID, &manifest.State{})
	model := map[uint64]int64{}
	now := int64(1e18)
	for step := range 20_000 {
		now += rng.Int64N(int64(4 * time.Second))
		st.Tick(now - rng.Int64N(int64(time.Second))) // the clock of a leader may be behind
		h := column.Header{Session: column.KeyedBit | 3, Seq: rng.Uint64N(600)}
		at, ok := model[h.Seq]
		want := ok && st.Clock-at <= int64(KeyTTL)
		if got, known := st.Seen(&h); got != want || !known {
			t.Fatalf("seed %d, step %d: appended %t, known %t, want %t", seed, step, got, known, want)
		}
		if !want {
			st.Note(&h)
			model[h.Seq] = st.Clock
		}
		if step%997 == 0 {
			st = stateOf(t, shardID, &manifest.State{Clock: st.Clock, Keys: st.keys.stored()})
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
		w.add(BatchID{column.KeyedBit, i}, int64(i))
	}
	if w.len() != maxKeys || len(w.ids) != maxKeys || w.has(BatchID{column.KeyedBit, 4999}) ||
		!w.has(BatchID{column.KeyedBit, 5000}) {
		t.Errorf("%d keys and %d ids, want %d of each, without key 4999 and with key 5000", w.len(), len(w.ids), maxKeys)
	}
	if cap(w.keys) > 2*maxKeys || cap(w.free) > 2*maxKeys {
		t.Errorf("there are slots for %d, of which %d are free", cap(w.keys), cap(w.free))
	}
}

// TestKeysOfUsers lets one user send 300 requests with a key a second, and other users few. No
// other user's keys may be forgotten early.
func TestKeysOfUsers(t *testing.T) {
	t.Parallel()
	for _, byUser := range []bool{true, false} {
		w := newKeyWindow(nil)
		w.byUser = byUser
		second := int64(time.Second)
		for at := range int64(20 * 60) {
			w.age(at * second)
			for i := range uint64(300) {
				w.add(BatchID{column.KeyedByUser(rand.Uint64(), 7), i}, at*second)
			}
			for user := range uint16(20) {
				w.add(BatchID{column.KeyedByUser(uint64(at), 100+user), 1}, at*second) //nolint:gosec // small
			}
		}
		lost := 0
		for at := int64(20*60 - 900); at < 20*60; at++ {
			for user := range uint16(20) {
				if !w.has(BatchID{column.KeyedByUser(uint64(at), 100+user), 1}) { //nolint:gosec // small
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

// TestKeysOfUsersModel compares the window with a list, also after storing it in the manifest and
// loading it.
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
		for len(model) > 0 && now-model[0].At > int64(KeyTTL) {
			model = model[1:]
		}
		w.byUser = rng.IntN(10) > 0
		//nolint:gosec // small
		k := manifest.Key{
			Session: column.KeyedByUser(rng.Uint64N(40), uint16(rng.ExpFloat64()*2)),
			Seq:     rng.Uint64N(3),
			At:      now,
		}
		if !slices.ContainsFunc(model, func(m manifest.Key) bool { return m.Session == k.Session && m.Seq == k.Seq }) {
			if len(model) == most {
				model = slices.Delete(model, forgotten(model, w.byUser), forgotten(model, w.byUser)+1)
			}
			model = append(model, k)
		}
		w.add(BatchID{k.Session, k.Seq}, k.At)
		if got := w.stored(); !slices.Equal(model, got) {
			t.Fatalf("seed %d, step %d: %s", seed, step, cmp.Diff(model, got))
		}
		if step%97 == 0 {
			w = newKeyWindow(w.stored())
			w.max = most
		}
	}
}

// forgotten returns the slot of the key that is forgotten next.
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
