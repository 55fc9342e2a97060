package shard

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/shard/rules"
)

// TestKeysByUserSince checks that entries contain the rule by which keys are forgotten once all
// nodes understand that rule.
func TestKeysByUserSince(t *testing.T) {
	t.Parallel()
	var version atomic.Uint32
	version.Store(metapb.ProtocolKeyUsers - 1)
	cfg := testConfig(t)
	cfg.ClusterVersion = version.Load
	s := openShard(t, cfg)
	see := func(want bool) {
		t.Helper()
		s.store.Status.Inspect(func(st *rules.State) {
			if st.KeysShared() != want {
				t.Errorf("by users: %t, want %t", st.KeysShared(), want)
			}
		})
	}
	s.mustPut(batch(head(1, 9, 1), "x"))
	see(false)
	version.Store(metapb.ProtocolKeyUsers)
	s.mustPut(batch(head(1, 9, 2), "y"))
	see(true)
	s = s.reopen()
	see(true)
}

// TestKeys checks that a batch of a request with a key is appended once, even if the shard was
// killed, or flushed and restarted, in between.
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
	if !s.store.Definitions.HasKey(column.KeyedBit|2, 7) || s.store.Definitions.HasKey(column.KeyedBit|3, 7) {
		t.Error("HasKey contradicts it")
	}
	later := rules.Entry{Kind: rules.KindDefine, Time: time.Now().Add(rules.KeyTTL + time.Minute).UnixNano()}
	if _, err := s.Shard.replica.Propose(wait(t), rules.AppendEntry(nil, &later)); err != nil {
		t.Fatal(err)
	}
	s.mustPut(key(1))
	see("m", "m", "m")
}

// TestKeyWithAnotherBody repeats a request's key with another body. It must be refused with 422
// before anything of it is appended, as long as the key is remembered, also after a flush and a
// restart.
func TestKeyWithAnotherBody(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	key := func(body uint64, rest uint32) []byte {
		return batch(head(1, column.KeyedBit|5, column.KeyedSeq(body<<32, rest)), fmt.Sprint("body ", body))
	}
	s.mustPut(key(1, 7))
	refused := func() {
		t.Helper()
		for _, other := range [][][]byte{
			{key(2, 7)}, {key(2, 8)}, {batch(head(1, column.KeyedBit|6, 1), "other"), key(2, 7)},
		} {
			_, err := s.put(other...)
			if errs.From(err).Status() != 422 || errs.CodeOf(err) != errs.InvalidArguments ||
				!strings.Contains(err.Error(), "Idempotency-Key") {
				t.Errorf("another body: %v", err)
			}
		}
		if diff := cmp.Diff([]string{"body 1"}, s.rows(1)); diff != "" {
			t.Error(diff)
		}
	}
	refused()
	s.mustPut(key(1, 7)) // the same request again
	refused()
	s = s.reopen()
	refused()
	s.flush()
	s = s.reopen()
	refused()
	s.mustPut(key(1, 8)) // the same body, split differently
	if got := len(s.rows(1)); got != 2 {
		t.Errorf("%d rows", got)
	}
}

// TestKeysOfUnloggedTables checks that batches with a key go through the log, whatever their table.
func TestKeysOfUnloggedTables(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	b := batch(head(1, column.KeyedBit|1, 1), "m")
	for range 2 {
		if _, need, err := s.Write(context.Background(), [][]byte{b}, []*schemapb.Table{skipDef(1)}); err != nil ||
			len(need) > 0 {
			t.Fatal(need, err)
		}
		s = s.reopen()
	}
	if diff := cmp.Diff([]string{"m"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
}
