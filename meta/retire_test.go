package meta

import (
	"context"
	"errors"
	"slices"
	"testing"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
)

// steps executes lines one after the other and compares the answers.
func (r *runner) steps(steps [][2]string) {
	r.t.Helper()
	for _, s := range steps {
		if got := r.do(s[0]); got != s[1] {
			r.t.Errorf("%s:\n got %s\nwant %s", s[0], got, s[1])
		}
	}
}

// TestRetireShard retires a shard as soon as nothing needs it.
func TestRetireShard(t *testing.T) {
	r := newRunner(t)
	r.steps([][2]string{
		{"bootstrap c1 shards=1", "cluster c1"},
		{"node n1", "cluster c1"},
		{"node n2", "cluster c1"},
		{"retire 9 v=1", "4005 Shard 9 not found; it may have been removed already"},
		{
			"change-shard 1 v=0 retiring=true",
			"1004 Shard 1 cannot be retired: there is no other shard that stays; add one with 'cordwood shard add'",
		},
		{"create-shard n1,n2", "shard 2 v1 want2 [n1 n2] learners[] founders[n1 n2] removed[]"},
		{"create a time:ts9! append_mode=true", "a=1 v1 @2 time:timestampnanosecond/1! append_mode=true"},
		{"create b time:ts9! append_mode=false", "b=2 v1 @1 time:timestampnanosecond/1! append_mode=false"},
		{"retire 2 v=1", "1006 Shard 2 cannot be retired: it is not in the state retiring, so it may still get tables"},
		{"change-shard 2 v=1 retiring=true", "shard 2 v2 want2 [n1 n2] learners[] founders[n1 n2] removed[] retiring"},
		{
			"change-shard 1 v=0 retiring=true",
			"1004 Shard 1 cannot be retired: there is no other shard that stays; add one with 'cordwood shard add'",
		},
		{"retire 2 v=1", "5001 Shard 2 has version 2 and not 1: it was changed meanwhile; read it again"},
		{"retire 2 v=2", "1006 Shard 2 cannot be retired: table `a` needs it"},
	})
	// A retiring shard gets no tables, whatever the numbers of tables are.
	r.steps([][2]string{
		{
			"ensure c time:ts9! | d time:ts9!",
			"c=3 v1 @1 time:timestampnanosecond/1! append_mode=true; d=4 v1 @1 time:timestampnanosecond/1! append_mode=true",
		},
		{
			"create e time:ts9! append_mode=true partitions=2",
			"e=5 v1 @1 time:timestampnanosecond/1! append_mode=true partitions=2",
		},
		{
			"place 3 epoch=1 shards=2",
			"1006 Table `c` cannot be placed on shard 2, which is being removed: choose another one",
		},
		{
			"place 2 epoch=1 step=begin shards=2",
			"1006 Table `b` cannot be placed on shard 2, which is being removed: choose another one",
		},
	})
	// Stored rows keep the shard, and so does a running copy.
	r.steps([][2]string{
		{"place 1 epoch=1 shards=1", "a=1 v2 @2 @1 time:timestampnanosecond/1! append_mode=true"},
		{"retire 2 v=2", "1006 Shard 2 cannot be retired: table `a` needs it"},
		{"change-shard 2 v=2 retiring=false", "shard 2 v3 want2 [n1 n2] learners[] founders[n1 n2] removed[]"},
		{"change-shard 2 v=3 retiring=false", "shard 2 v4 want2 [n1 n2] learners[] founders[n1 n2] removed[]"},
		{"place 2 epoch=1 step=begin shards=2", "b=2 v2 @1 copy6 time:timestampnanosecond/1! append_mode=false"},
		{"drop a", "dropped [1]"},
		{"change-shard 2 v=4 retiring=true", "shard 2 v5 want2 [n1 n2] learners[] founders[n1 n2] removed[] retiring"},
		{"retire 2 v=5", "1006 Shard 2 cannot be retired: table `b` needs it"},
		{"place 2 epoch=1 step=give_up copy=6", "b=2 v3 @1 time:timestampnanosecond/1! append_mode=false; dropped [6]"},
	})
	// Operations keep it too.
	r.steps([][2]string{
		{"op replica-repair shard=2", "op 1 v1 replica-repair running"},
		{
			"retire 2 v=5",
			"1006 Shard 2 cannot be retired: operation 1 (replica-repair) needs it; wait for it, or cancel it",
		},
		{"op replica-repair id=1 v=1 shard=2 state=done", "op 1 v2 replica-repair done"},
		{"op table-move table=3 to=1,2", "op 2 v1 table-move running"},
		{"retire 2 v=5", "1006 Shard 2 cannot be retired: operation 2 (table-move) needs it; wait for it, or cancel it"},
		{"op table-move id=2 v=1 table=3 to=1,2 state=failed", "op 2 v2 table-move failed"},
		{"retire 2 v=5", "shard 2 v6 want2 [] learners[] founders[] removed[n1 n2] retiring"},
		{"retire 2 v=6", "4005 Shard 2 not found; it may have been removed already"},
	})
	// Its id is not used again. Its nodes delete their replicas, or are removed.
	r.steps([][2]string{
		{"create-shard n1 id=2", "5001 Shard 2 cannot be created: the next id is 3; another shard was created meanwhile"},
		{"change-shard 2 v=6 add=n1", "4005 Shard 2 not found"},
		{"place 3 epoch=1 shards=2", "4005 Table `c` cannot be placed on shard 2: there is no such shard"},
		{"change-shard 2 v=6 forget=n1", "shard 2 v7 want2 [] learners[] founders[] removed[n2] retiring"},
		{"change-shard 2 v=6 forget=n1", "shard 2 v7 want2 [] learners[] founders[] removed[n2] retiring"},
		{"remove-node n2", ""},
		{"create-shard n1 id=3", "shard 3 v1 want1 [n1] learners[] founders[n1] removed[]"},
		{"create f time:ts9! append_mode=true", "f=7 v1 @3 time:timestampnanosecond/1! append_mode=true"},
	})
	err := r.machine.catalog.View(func(tx *catalog.Tx) error {
		if n := tx.Shards.Retiring(); n != 0 {
			t.Errorf("%d shards are retiring", n)
		}
		retired, err := tx.Shards.AllRetired()
		if err != nil || len(retired) != 1 || retired[0].Id != 2 || len(retired[0].Removed) != 0 {
			t.Errorf("retired: %v, %v", retired, err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRetireInHistory keeps a shard's id in the placement history of a table that was moved from
// it. That is no reason to keep the shard.
func TestRetireInHistory(t *testing.T) {
	r := newRunner(t)
	r.steps([][2]string{
		{"bootstrap c1 shards=2", "cluster c1"},
		{"node n1", "cluster c1"},
		{"create m time:ts9! append_mode=true", "m=1 v1 @1 time:timestampnanosecond/1! append_mode=true"},
		{"change-shard 1 v=0 retiring=true", "shard 1 v1 want0 [n1] learners[] founders[] removed[] retiring"},
		{"place 1 epoch=1 step=begin shards=2", "m=1 v2 @1 copy2 time:timestampnanosecond/1! append_mode=true"},
		{"place 1 epoch=1 step=close copy=2", "m=1 v3 @1 @1closed copy2 time:timestampnanosecond/1! append_mode=true"},
		{"retire 1 v=1", "1006 Shard 1 cannot be retired: table `m` needs it"},
		{
			"place 1 epoch=2 step=finish copy=2",
			"m=2 v4 @1handed @2 time:timestampnanosecond/1! append_mode=true; dropped [1]",
		},
		{"retire 1 v=1", "shard 1 v2 want0 [] learners[] founders[] removed[n1] retiring"},
	})
}

// TestRetireIsWatched checks that copies of the state remove the shard, including copies that are
// made later.
func TestRetireIsWatched(t *testing.T) {
	r := newRunner(t)
	ended := errors.New("enough was seen")
	watch := func() (shards, retired []uint32) {
		err := r.machine.watch(context.Background(), func(w *metapb.WatchResponse) error {
			for _, s := range w.Shards {
				shards = append(shards, s.Id)
			}
			for _, s := range w.RetiredShards {
				retired = append(retired, s.Id)
			}
			if w.Partial {
				return nil
			}
			return ended
		})
		if !errors.Is(err, ended) {
			t.Fatal(err)
		}
		return shards, retired
	}
	r.do("bootstrap c1 shards=2")
	r.do("change-shard 2 v=0 retiring=true")
	index := r.index
	r.do("retire 2 v=1")
	changes, _, err := r.machine.hub.after(index, r.machine.hub.generation(), 10)
	if err != nil || len(changes) != 1 || len(changes[0].RetiredShards) != 1 || len(changes[0].Shards) != 0 {
		t.Errorf("published: %v, %v", changes, err)
	}
	if shards, retired := watch(); !slices.Equal(shards, []uint32{1}) || !slices.Equal(retired, []uint32{2}) {
		t.Errorf("a new watch sees shards %v and retired ones %v", shards, retired)
	}
}

// TestRetireNeedsVersion checks that both commands are refused while the cluster's version does not
// have them.
func TestRetireNeedsVersion(t *testing.T) {
	for _, line := range []string{"change-shard 2 v=1 retiring=true", "retire 2 v=1"} {
		cmd := command(t, line)
		if checkGate(cmd, metapb.ProtocolRetire-1) == nil {
			t.Errorf("%s: it is proposed in version %d", line, metapb.ProtocolRetire-1)
		}
		if err := checkGate(cmd, metapb.ProtocolRetire); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestShardRemoveNeedsVersion checks that the record of a removal is refused before the version
// that has it, because older programs would not carry it out.
func TestShardRemoveNeedsVersion(t *testing.T) {
	op := &metapb.Operation{
		Kind: "shard-remove", Progress: &metapb.Operation_ShardRemove{ShardRemove: &metapb.ShardRemoveProgress{ShardId: 2}},
	}
	cmd := &metapb.Command{Op: &metapb.Command_PutOperation{PutOperation: &metapb.PutOperation{Operation: op}}}
	if minVersion(cmd) != metapb.ProtocolRetire {
		t.Errorf("the record needs version %d, want %d", minVersion(cmd), metapb.ProtocolRetire)
	}
	if checkGate(cmd, metapb.ProtocolRetire-1) == nil {
		t.Errorf("it is proposed in version %d", metapb.ProtocolRetire-1)
	}
	if err := checkGate(cmd, metapb.ProtocolRetire); err != nil {
		t.Error(err)
	}
}
