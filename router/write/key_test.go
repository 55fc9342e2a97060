package write

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// TestKeyIdentity checks that the id depends on every part of the key and on nothing else, and its session has the bit
// of keys.
func TestKeyIdentity(t *testing.T) {
	base := Key{Text: "k", User: "u"}.id(5, 0, 0, 10, 0)
	if base.session&column.KeyedBit == 0 || base != (Key{Text: "k", User: "u"}).id(5, 0, 0, 10, 0) {
		t.Fatal(base)
	}
	seen := map[batchID]string{base: "base"}
	for name, id := range map[string]batchID{
		"key": Key{Text: "l", User: "u"}.id(5, 0, 0, 10, 0), "user": Key{Text: "k", User: "v"}.id(5, 0, 0, 10, 0),
		"table": Key{Text: "k", User: "u"}.id(6, 0, 0, 10, 0),
		"part":  Key{Text: "k", User: "u"}.id(5, 1, 0, 10, 0), "from": Key{Text: "k", User: "u"}.id(5, 0, 1, 10, 0),
		"to":     Key{Text: "k", User: "u"}.id(5, 0, 0, 11, 0),
		"path":   Key{Text: "k", User: "u"}.id(5, 0, 0, 10, 1),
		"border": Key{Text: "ku", User: ""}.id(5, 0, 0, 10, 0),
	} {
		if other, same := seen[id]; same {
			t.Errorf("%s: the same as %s", name, other)
		}
		seen[id] = name
	}
}

// TestKeyIdentityWithBody checks that the session does not depend on the body or the end of the row range, so that a
// shard can detect another body. The sequence number contains the body's hash.
func TestKeyIdentityWithBody(t *testing.T) {
	k := Key{Text: "k", User: "u", Body: 1 << 40}
	other := Key{Text: "k", User: "u", Body: 2 << 40}
	a, b := k.id(5, 0, 0, 10, 0), other.id(5, 0, 0, 12, 0)
	if a.session != b.session || a.session&column.KeyedBit == 0 || column.KeyedBody(a.seq) == column.KeyedBody(b.seq) {
		t.Errorf("%x and %x", a, b)
	}
	if c := k.id(5, 0, 0, 11, 0); c.session != a.session || c == a || column.KeyedBody(c.seq) != column.KeyedBody(a.seq) {
		t.Errorf("rows that end elsewhere: %x and %x", a, c)
	}
	for name, c := range map[string]batchID{
		"key": Key{Text: "l", User: "u", Body: 1 << 40}.id(5, 0, 0, 10, 0), "table": k.id(6, 0, 0, 10, 0),
		"part": k.id(5, 1, 0, 10, 0),
		"from": k.id(5, 0, 1, 10, 0), "path": k.id(5, 0, 0, 10, 1),
		"without a body": Key{Text: "k", User: "u"}.id(5, 0, 0, 10, 0),
	} {
		if c.session == a.session {
			t.Errorf("%s: the same session", name)
		}
	}
}

// TestKeyIdentityByUser checks that all sessions of a user contain the same hash, and sessions of other users do not.
func TestKeyIdentityByUser(t *testing.T) {
	id := func(k Key) batchID { return k.id(5, 0, 0, 10, 0) }
	a := id(Key{Text: "k", User: "u", Body: 1 << 40, byUser: true})
	b := id(Key{Text: "l", User: "u", Body: 1 << 40, byUser: true})
	c := id(Key{Text: "k", User: "v", Body: 1 << 40, byUser: true})
	if a.session&column.KeyedBit == 0 || column.KeyedUser(a.session) != column.KeyedUser(b.session) ||
		a.session == b.session {
		t.Errorf("%x and %x of one user", a, b)
	}
	if column.KeyedUser(a.session) == column.KeyedUser(c.session) || a.session<<17 == c.session<<17 {
		t.Errorf("%x and %x of two users", a, c)
	}
	m, s := newFakeMeta(), &fakeShards{}
	for _, version := range []uint32{metapb.ProtocolKeyUsers - 1, metapb.ProtocolKeyUsers} {
		w := newWriter(t, m, s, func(c *Config) { c.ClusterVersion = func() uint32 { return version } })
		if _, err := w.WriteKeyed(t.Context(), output(rows("a", 1)), Key{
			Text: fmt.Sprint(version),
			User: "u",
			Body: 1,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.got) != 2 || column.KeyedUser(s.got[0].batch.Session) == column.KeyedUser(a.session) ||
		column.KeyedUser(s.got[1].batch.Session) != column.KeyedUser(a.session) {
		t.Errorf("batches %+v", s.got)
	}
}

// TestKeyIdentityWithParams checks that, from the cluster version that added them, the parameters are part of the hash
// in the sequence number, and the session does not depend on them. With an older cluster version the id is unchanged,
// because routers of both versions work at the same time.
func TestKeyIdentityWithParams(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	send := func(version uint32, body, params uint64) batchID {
		w := newWriter(t, m, s, func(c *Config) { c.ClusterVersion = func() uint32 { return version } })
		s.got = nil
		if _, err := w.WriteKeyed(t.Context(), output(rows("a", 1)), Key{
			Text: "k", User: "u", Body: body << 40, Params: params,
		}); err != nil || len(s.got) != 1 {
			t.Fatal(s.got, err)
		}
		b := s.got[0].batch
		return batchID{b.Session, b.Seq}
	}
	fresh := func() { s = &fakeShards{} } // otherwise the fake would recognize the key
	const now, before = metapb.ProtocolKeyParams, metapb.ProtocolKeyParams - 1
	first := send(now, 1, 1)
	for _, c := range []struct {
		body, params uint64
		same         bool
	}{{1, 1, true}, {1, 2, false}, {2, 1, false}} {
		fresh()
		if got := send(now, c.body, c.params); got.session != first.session || (got == first) != c.same ||
			(column.KeyedBody(got.seq) == column.KeyedBody(first.seq)) != c.same {
			t.Errorf("body %d, parameters %d: %x, the first is %x", c.body, c.params, got, first)
		}
	}
	fresh()
	old := send(before, 1, 1)
	fresh()
	if other := send(before, 1, 2); other != old {
		t.Errorf("before the upgrade, with other parameters: %x and %x", old, other)
	}
	if old.session == first.session {
		t.Error("a request that is sent again after the upgrade is refused for its parameters")
	}
	if want := (Key{Text: "k", User: "u", Body: 1 << 40, byUser: true}).id(m.tables["public.a"].Origin(), 0, 0, 1,
		0); old != want {
		t.Errorf("before the upgrade: %x, want %x", old, want)
	}
}

// TestEarlierByOtherClocks checks that a writer asks a table's former shards for half an hour after it has seen the
// move, even if the clock of the node that moved the table is wrong. It does not ask them later, or if the move was
// long ago.
func TestEarlierByOtherClocks(t *testing.T) {
	now := time.Now()
	at := func(skew time.Duration) *schema.Table {
		return &schema.Table{
			ID:        5,
			Placement: []schema.Placement{{Epoch: 1, ShardID: 1}, {Epoch: 2, ShardID: 2, Since: now.Add(skew).UnixNano()}},
		}
	}
	for _, skew := range []time.Duration{-20 * time.Hour, -time.Hour, 0, time.Hour, 20 * time.Hour} {
		var e epochs
		for passed, asked := range map[time.Duration]bool{0: true, 29 * time.Minute: true, 31 * time.Minute: false} {
			e.known(tableEpoch{5, 2}, now)
			if got := e.earlier(at(skew), now.Add(passed)); slices.Equal(got, []uint32{1}) != asked || len(got) > 1 {
				t.Errorf("a clock that is off by %s, after %s: %v", skew, passed, got)
			}
		}
	}
	var e epochs
	if got := e.earlier(at(-26*time.Hour), now); got != nil {
		t.Errorf("a day after: %v", got)
	}
	for i := range uint32(3 * maxEpochs) {
		e.known(tableEpoch{5, i}, now)
	}
	if len(e.since) > maxEpochs {
		t.Errorf("the writer remembers %d epochs", len(e.since))
	}
}

// TestAnswersAreHonest checks that an error begins with "the outcome is unknown" if rows may have been stored, and says
// when to retry if only the time ran out.
func TestAnswersAreHonest(t *testing.T) {
	for _, c := range []struct {
		err     *errs.Error
		unknown bool
		status  int
	}{
		{errs.New(errs.DeadlineExceeded, "late").WithReason(errs.OutcomeUnknown), true, 503},
		{
			errs.New(errs.ShardUnreachable, "column \"the outcome is unknown\": cut").WithReason(errs.OutcomeUnknown),
			true, 503,
		},
		{errs.New(errs.DeadlineExceeded, "waited for its turn"), false, 503},
		{errs.New(errs.ShardUnreachable, "cut").WithReason(errs.OutcomeUnknown), true, 503},
		{errs.New(errs.ShardBusy, "busy").WithReason(errs.Busy).WithRetryAfter(time.Second), false, 503},
		{errs.New(errs.InvalidArguments, "wrong"), false, 400},
	} {
		s := &fakeShards{refuse: func(int, uint32, []column.Header) error { return c.err }}
		_, err := newWriter(t, newFakeMeta(), s).Write(t.Context(), output(rows("a", 1)))
		e := errs.From(err)
		if e.Status() != c.status || strings.HasPrefix(e.ClientMessage(), "the outcome is unknown: ") != c.unknown ||
			e.Reason != c.err.Reason || (e.RetryAfter > 0) != (c.status == 503) {
			t.Errorf("%v becomes %d %q, reason %q, retry after %s", c.err, e.Status(), e.ClientMessage(), e.Reason, e.RetryAfter)
		}
	}
}

// TestKeyedRequestIsStoredOnce checks that another writer may send the repetition, and any part of the request may be
// stored already.
func TestKeyedRequestIsStoredOnce(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	m.shards = 3
	small := func(c *Config) { c.MaxBatchRows = 10 }
	request := func() (Result, error) {
		w := newWriter(t, m, s, small)
		return w.WriteKeyed(t.Context(), output(rows("a", 25), rows("b", 5), rows("a", 5)), Key{Text: "k"})
	}
	s.refuse = func(_ int, shard uint32, _ []column.Header) error {
		if shard == 0 {
			return errs.New(errs.ShardUnreachable, "cut").WithReason(errs.OutcomeUnknown)
		}
		return nil
	}
	_, err := request()
	if partial := (*PartialError)(nil); !errors.As(err, &partial) || partial.Acked == 0 || partial.Total != 35 ||
		partial.Err.RetryAfter == 0 || partial.Err.Status() != 503 {
		t.Fatal(err)
	}
	s.refuse = nil
	for range 2 {
		res, err := request()
		if err != nil || res.Rows != 35 {
			t.Fatal(res, err)
		}
	}
	if s.rows() != 35 {
		t.Errorf("%d rows stored, want 35", s.rows())
	}
	if _, err := newWriter(t, m, s, small).WriteKeyed(t.Context(), output(rows("a", 25)),
		Key{Text: "k", User: "another"}); err != nil || s.rows() != 60 {
		t.Errorf("the same key of another user: %d rows, error %v", s.rows(), err)
	}
}

func spread(m *fakeMeta, s *fakeShards, t *testing.T, placement ...schema.Placement) {
	t.Helper()
	if _, err := newWriter(t, m, s).Write(t.Context(), output(rows("a", 1))); err != nil {
		t.Fatal(err)
	}
	old, _ := m.Table("public", "a")
	moved := *old
	moved.Version++
	moved.Placement, moved.Options = placement, map[string]string{"append_mode": "true"}
	m.put(&moved)
	s.got = nil
}

// TestKeyedRequestAcrossAMove checks that the new shard does not store rows again that the former shard has. Before
// that, the former shard gets the definition by which it accepts no more writes.
func TestKeyedRequestAcrossAMove(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	spread(m, s, t, schema.Placement{Epoch: 1, ShardID: 1})
	key := Key{Text: "k"}
	w := newWriter(t, m, s)
	if _, err := w.WriteKeyed(t.Context(), output(rows("a", 5)), key); err != nil {
		t.Fatal(err)
	}
	old, _ := m.Table("public", "a")
	moved := *old
	moved.Placement = append(slices.Clone(old.Placement), schema.Placement{
		Epoch:   2,
		ShardID: 2,
		Since:   time.Now().UnixNano(),
	})
	m.put(&moved)
	for range 2 {
		if res, err := w.WriteKeyed(t.Context(), output(rows("a", 5)), key); err != nil || res.Rows != 5 {
			t.Fatal(res, err)
		}
	}
	if s.rows() != 5 {
		t.Errorf("%d rows, want 5", s.rows())
	}
	if len(s.sealed) != 1 || s.checks != 2 {
		t.Errorf("the observed sealed state is %v after %d checks", s.sealed, s.checks)
	}
	if _, err := w.WriteKeyed(t.Context(), output(rows("a", 5)), Key{Text: "another"}); err != nil || s.rows() != 10 ||
		s.got[len(s.got)-1].shard != 2 {
		t.Errorf("a new request: %d rows, error %v", s.rows(), err)
	}

	long := *old
	long.Placement = append(slices.Clone(old.Placement), schema.Placement{
		Epoch:   2,
		ShardID: 2,
		Since:   time.Now().Add(-26 * time.Hour).UnixNano(),
	})
	m.put(&long)
	s.checks = 0
	if _, err := w.WriteKeyed(t.Context(), output(rows("a", 5)), Key{Text: "a third"}); err != nil || s.checks != 0 {
		t.Errorf("long after the move: asked %d times, error %v", s.checks, err)
	}
}

// TestKeysWaitForTheUpgrade checks that shards of older versions would treat keys as sessions.
func TestKeysWaitForTheUpgrade(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	version := uint32(1)
	w := newWriter(t, m, s, func(c *Config) { c.ClusterVersion = func() uint32 { return version } })
	res, err := w.WriteKeyed(t.Context(), output(rows("a", 1)), Key{Text: "k"})
	if err != nil || len(res.Warnings) != 1 || column.KeyedSession(s.got[0].batch.Session) {
		t.Error(res, err)
	}
	version = 2
	if res, err = w.WriteKeyed(t.Context(), output(rows("a", 1)), Key{Text: "k"}); err != nil || len(res.Warnings) != 0 ||
		!column.KeyedSession(s.got[1].batch.Session) {
		t.Error(res, err)
	}
}

// TestPackingWaitsForTheUpgrade checks that nodes of older versions would stop at a packed entry.
func TestPackingWaitsForTheUpgrade(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	version := uint32(metapb.ProtocolPacking - 1)
	w := newWriter(t, m, s, func(c *Config) { c.ClusterVersion = func() uint32 { return version } })
	const bits = 2
	for i, want := range []byte{0, bits} {
		if _, err := w.Write(t.Context(), output(rows("a", 1000))); err != nil {
			t.Fatal(err)
		}
		if got := s.got[i].flags & bits; got != want {
			t.Errorf("cluster version %d: flags %#x", version, s.got[i].flags)
		}
		version = metapb.ProtocolPacking
	}
}

// TestKeyedChoosesTheShardByItsKey checks that every router sends a batch to the same shard.
func TestKeyedChoosesTheShardByItsKey(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	spread(m, s, t, schema.Placement{Epoch: 1, ShardID: 1, More: []uint32{2, 3}})
	used := map[uint32]int{}
	for i := range 60 {
		for range 2 {
			if _, err := newWriter(t, m, s).WriteKeyed(t.Context(), output(rows("a", 1)),
				Key{Text: string(rune('A' + i))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, g := range s.got {
		used[g.shard]++
	}
	if len(s.got) != 60 || len(used) != 3 || used[1] < 5 || used[2] < 5 || used[3] < 5 {
		t.Errorf("%d batches, by shard %v", len(s.got), used)
	}
}

// TestPartitionsStick checks that small requests go to one shard until they add up to stickyBytes, then to the shard to
// which the fewest bytes are being sent. A shard without a leader is avoided.
func TestPartitionsStick(t *testing.T) {
	s := &fakeShards{loads: map[uint32]int64{1: 10, 2: 5, 3: 20}, ailing: map[uint32]bool{}, pressed: map[uint32]bool{}}
	table := &schema.Table{ID: 9, Placement: []schema.Placement{{Epoch: 1, ShardID: 1, More: []uint32{2, 3}}}}
	p := &partitions{}
	var got []uint32
	for range 5 {
		got = append(got, p.pick(table, stickyBytes/4, nil, s))
	}
	s.loads = map[uint32]int64{1: 1, 2: 5, 3: 20}
	for range 4 {
		got = append(got, p.pick(table, stickyBytes/4, nil, s))
	}
	s.ailing[1] = true
	got = append(got, p.pick(table, 1, nil, s))
	s.pressed[2] = true
	got = append(got, p.pick(table, 1, nil, s), p.pick(table, 1, []uint32{3}, s))
	if diff := cmp.Diff([]uint32{2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 3, 1}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnotherShardTakesWhatOneCannot checks that a batch goes to another shard only if the first shard certainly did
// not store it.
func TestAnotherShardTakesWhatOneCannot(t *testing.T) {
	for _, tt := range []struct {
		reason errs.Reason
		rows   int
	}{{errs.Busy, 3}, {errs.NotLeader, 3}, {errs.OutcomeUnknown, 0}} {
		m, s := newFakeMeta(), &fakeShards{}
		spread(m, s, t, schema.Placement{Epoch: 1, ShardID: 1, More: []uint32{2, 3}})
		asked := map[uint32]int{}
		s.refuse = func(_ int, shard uint32, _ []column.Header) error {
			if asked[shard]++; len(asked) < 3 {
				return errs.New(errs.ShardUnreachable, "no").WithReason(tt.reason)
			}
			return nil
		}
		_, err := newWriter(t, m, s).Write(t.Context(), output(rows("a", 3)))
		if s.rows() != tt.rows || (err == nil) != (tt.rows > 0) {
			t.Errorf("%s: %d rows, error %v, asked %v", tt.reason, s.rows(), err, asked)
		}
	}
}

func TestPressed(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{pressed: map[uint32]bool{1: true}}
	w := newWriter(t, m, s)
	if _, yes := w.Pressed("public", "nothing"); yes {
		t.Error("a table that does not exist")
	}
	spread(m, s, t, schema.Placement{Epoch: 1, ShardID: 1})
	if after, yes := w.Pressed("public", "a"); !yes || after != 3*time.Second {
		t.Error(after, yes)
	}
	spread(m, s, t, schema.Placement{Epoch: 1, ShardID: 1, More: []uint32{2}})
	if _, yes := w.Pressed("public", "a"); yes {
		t.Error("although one of its shards takes rows")
	}
}
