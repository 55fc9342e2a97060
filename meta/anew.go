package meta

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
)

// This file exports the state of the metadata, and makes a new cluster from such a state.

// Export returns the state of this member, for Anew.
func (m *Meta) Export() (*catalog.Export, error) {
	f, err := m.catalog.Freeze()
	if err != nil {
		return nil, err
	}
	defer f.Release()
	return f.Export()
}

// Anew describes a cluster that is made from the exported state of another one. All fields but Shards are required.
type Anew struct {
	// Dir is the folder of the member. It must not exist.
	Dir string
	// NodeID is the only node of the cluster.
	NodeID, ClusterID string
	State             *catalog.Export
	// Shards are the shards whose rows come back. Others begin without rows.
	Shards []AnewShard
	Now    time.Time
}

// AnewShard is what is known about a shard without the metadata, perhaps from a later time.
type AnewShard struct {
	ID, Incarnation uint32
	Tables          []*schemapb.Table
	// Dropped are ids of tables that were dropped.
	Dropped []uint64
}

// AnewResult says what Create did.
type AnewResult struct {
	// Incarnations has, by shard, the incarnation in which it continues. Shards that were removed are not in it.
	Incarnations map[uint32]uint32
	// Empty are the shards that begin without rows.
	Empty []uint32
	// Tables has the tables by id.
	Tables map[uint64]*schemapb.Table
	// Notes describe tables that the state lacked, or that differed.
	Notes []string
}

// Create makes the only member of the metadata group of the new cluster. If it is interrupted, remove the folder.
func (a *Anew) Create() (*AnewResult, error) {
	r := &AnewResult{Incarnations: map[uint32]uint32{}, Tables: map[uint64]*schemapb.Table{}}
	if err := a.create(r); err != nil {
		return nil, fmt.Errorf("make the metadata of the cluster anew in %s: %w", a.Dir, err)
	}
	return r, nil
}

func (a *Anew) create(r *AnewResult) (err error) {
	if err := os.MkdirAll(a.Dir, 0o755); err != nil {
		return err
	}
	cat, err := catalog.Import(filepath.Join(a.Dir, StateFile), a.State)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cat.Close()) }()
	err = cat.Update(func(tx *catalog.Tx) error {
		if err := understood(tx.ClusterVersion()); err != nil {
			return err
		}
		if err := tx.SetClusterID(a.ClusterID); err != nil {
			return err
		}
		for _, f := range []func(*catalog.Tx, *AnewResult) error{a.placeShards, a.mendTables, a.endOperations} {
			if err := f(tx, r); err != nil {
				return err
			}
		}
		if err := tx.RaiseCounters(); err != nil {
			return err
		}
		return eachTable(tx, func(t *schemapb.Table) error { r.Tables[t.Id] = t; return nil })
	})
	if err != nil {
		return err
	}
	frozen, err := cat.Freeze()
	if err != nil {
		return err
	}
	defer frozen.Release()
	return replica.Create(replica.CreateConfig{
		Dir: a.Dir, Log: raftlog.Bolt, NodeID: a.NodeID, Index: a.State.Index, Term: a.State.Term,
		State: func(w io.Writer) error { return frozen.Persist(w) },
	})
}

// placeShards gives all shards to the node, each in a new incarnation.
func (a *Anew) placeShards(tx *catalog.Tx, r *AnewResult) error {
	all, err := tx.Shards.All()
	if err != nil {
		return err
	}
	known := map[uint32]*metapb.Shard{}
	for _, s := range all {
		known[s.Id] = s
	}
	have := map[uint32]uint32{}
	for _, s := range a.Shards {
		retired, err := tx.Shards.Retired(s.ID)
		if err != nil {
			return err
		}
		if retired != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("shard %d had been removed: its objects are not used", s.ID))
			continue
		}
		have[s.ID] = s.Incarnation
		if known[s.ID] == nil {
			r.Notes = append(r.Notes, fmt.Sprintf("shard %d was created after the metadata were stored", s.ID))
			all = append(all, &metapb.Shard{Id: s.ID, Incarnation: s.Incarnation})
		}
	}
	for _, s := range all {
		s.Want = max(s.Want, uint32(len(s.Replicas)))
		s.Replicas, s.Founders, s.Learners, s.Removed = []string{a.NodeID}, []string{a.NodeID}, nil, nil
		s.Version++
		if from, ok := have[s.Id]; ok {
			s.Incarnation = max(s.Incarnation, from) + 1
			s.Founded = []string{a.NodeID}
			r.Incarnations[s.Id] = s.Incarnation
		} else {
			s.Incarnation += recreateStep
			s.AnewIncarnation, s.Founded = s.Incarnation, nil
			r.Empty = append(r.Empty, s.Id)
		}
		if err := tx.Shards.Put(s); err != nil {
			return err
		}
	}
	return nil
}

// mendTables applies what the shards know about tables and the metadata do not.
func (a *Anew) mendTables(tx *catalog.Tx, r *AnewResult) error {
	dropped, newest, holders := map[uint64]bool{}, map[uint64]*schemapb.Table{}, map[uint64][]uint32{}
	for _, s := range a.Shards {
		for _, id := range s.Dropped {
			dropped[id] = true
		}
		for _, t := range s.Tables {
			holders[t.Id] = append(holders[t.Id], s.ID)
			if had := newest[t.Id]; had == nil || had.Version < t.Version {
				newest[t.Id] = t
			}
		}
	}
	gone := []*schemapb.Table{}
	err := eachTable(tx, func(t *schemapb.Table) error {
		if dropped[t.Id] {
			gone = append(gone, t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range gone {
		r.Notes = append(r.Notes, fmt.Sprintf("table %s was dropped after the metadata were stored",
			schema.TableLabel(t.Database, t.Name)))
		if err := tx.Tables.Drop(t, a.State.Index, a.Now.UnixNano()); err != nil {
			return err
		}
	}
	ids := []uint64{}
	for id := range newest {
		if !dropped[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		if err := a.mendTable(tx, r, newest[id], holders[id]); err != nil {
			return err
		}
	}
	return nil
}

// mendTable stores a definition that a shard has, if the metadata have an older one or none.
func (a *Anew) mendTable(tx *catalog.Tx, r *AnewResult, t *schemapb.Table, holders []uint32) error {
	had, err := tx.Tables.ByID(t.Id)
	if err != nil || had != nil && had.Version >= t.Version {
		return err
	}
	t = proto.CloneOf(t)
	label := schema.TableLabel(t.Database, t.Name)
	if had != nil {
		// The name and the placement are the metadata's: what shards have may be older.
		t.Database, t.Name, t.Placement, t.Handoff = had.Database, had.Name, had.Placement, had.Handoff
		r.Notes = append(r.Notes, fmt.Sprintf("table %s was altered after the metadata were stored", label))
		return tx.Tables.Put(t)
	}
	if wasDropped(tx, t.Id) {
		return nil // its rows wait to be deleted
	}
	if d, err := tx.Databases.Get(t.Database); err != nil {
		return err
	} else if d == nil {
		err := tx.Databases.Create(&schemapb.Database{Name: t.Database, CreatedUnixNano: a.Now.UnixNano()})
		if err != nil {
			return err
		}
	}
	other, err := tx.Tables.ByName(t.Database, t.Name)
	if err != nil {
		return err
	}
	if other != nil {
		t.Name = fmt.Sprintf("%s_recovered_%d", t.Name, t.Id)
	}
	t.Handoff = nil
	if len(t.Placement) == 0 {
		slices.Sort(holders)
		t.Placement = []*schemapb.Placement{{
			Epoch: 1, ShardId: holders[0], MoreShards: holders[1:], SinceUnixNano: a.Now.UnixNano(),
		}}
	}
	r.Notes = append(r.Notes, fmt.Sprintf("table %s was created after the metadata were stored; it is %s now", label,
		schema.TableLabel(t.Database, t.Name)))
	return tx.Tables.Create(t)
}

// wasDropped reports whether the metadata know that a table was dropped.
func wasDropped(tx *catalog.Tx, id uint64) bool {
	list := tx.Tables.DroppedFrom(id-1, 1)
	return len(list) == 1 && list[0].ID == id
}

// endOperations forgets operations about nodes that are lost. Handoffs of tables stay: they are given up, because their
// shards have new incarnations.
func (a *Anew) endOperations(tx *catalog.Tx, _ *AnewResult) error {
	all, err := tx.Operations.All()
	if err != nil {
		return err
	}
	for _, op := range all {
		if op.EndedUnixNano == 0 && op.TableId == 0 {
			if err := tx.Operations.Drop(op.Id); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachTable calls f for each table.
func eachTable(tx *catalog.Tx, f func(*schemapb.Table) error) error {
	for after, done := uint64(0), false; !done; {
		var list []*schemapb.Table
		var err error
		if list, done, err = tx.Tables.From(after, 1000, 16<<20); err != nil {
			return err
		}
		for _, t := range list {
			if err := f(t); err != nil {
				return err
			}
			after = t.Id
		}
	}
	return nil
}
