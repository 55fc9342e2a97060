package catalog

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/schemapb"
)

// MaxEpochs is the maximum length of a table's placement history.
const MaxEpochs = 1000

// Tables are the tables of all databases, and the ids of dropped tables.
type Tables struct{ *store }

// ByName returns the table of that name, or nil.
func (t Tables) ByName(database, name string) (*schemapb.Table, error) {
	id := t.tx.Bucket(bucketNames).Get(nameKey(database, name))
	if id == nil {
		return nil, nil
	}
	table, err := t.ByID(number(id))
	if err == nil && table == nil {
		err = fmt.Errorf("table %s.%s: the state has no table with id %d", database, name, number(id))
	}
	return table, err
}

// ByID returns the table with the id, or nil.
func (t Tables) ByID(id uint64) (*schemapb.Table, error) {
	table := &schemapb.Table{}
	found, err := t.get(bucketTables, u64(id), table)
	if !found {
		return nil, err
	}
	return table, err
}

// Create stores a table with a new id. Its name must be unused.
func (t Tables) Create(table *schemapb.Table) error {
	if _, err := t.count(keyTables, 1); err != nil {
		return err
	}
	if err := t.addLoads(table, 1); err != nil {
		return err
	}
	t.add(table.Database, 1)
	if err := t.put(bucketNames, nameKey(table.Database, table.Name), u64(table.Id)); err != nil {
		return err
	}
	return t.putMessage(bucketTables, u64(table.Id), table)
}

// Put stores a changed table whose name did not change.
func (t Tables) Put(table *schemapb.Table) error {
	return t.putMessage(bucketTables, u64(table.Id), table)
}

// Rename stores a changed table whose name was oldName.
func (t Tables) Rename(table *schemapb.Table, oldName string) error {
	if err := t.delete(bucketNames, nameKey(table.Database, oldName)); err != nil {
		return err
	}
	if err := t.put(bucketNames, nameKey(table.Database, table.Name), u64(table.Id)); err != nil {
		return err
	}
	return t.Put(table)
}

// Drop removes a table and records that its id was dropped.
func (t Tables) Drop(table *schemapb.Table, index uint64, unixNano int64) error {
	if _, err := t.count(keyTables, -1); err != nil {
		return err
	}
	if err := t.addLoads(table, -1); err != nil {
		return err
	}
	t.add(table.Database, -1)
	if err := t.delete(bucketNames, nameKey(table.Database, table.Name)); err != nil {
		return err
	}
	if err := t.delete(bucketTables, u64(table.Id)); err != nil {
		return err
	}
	d := Dropped{ID: table.Id, Database: table.Database, Name: table.Name, Index: index, UnixNano: unixNano}
	return t.put(bucketDropped, u64(d.ID), d.encode())
}

// DropCopy records that the id of the table's copy was dropped.
func (t Tables) DropCopy(table *schemapb.Table, index uint64, unixNano int64) error {
	d := Dropped{ID: table.Handoff.TableId, Database: table.Database, Name: table.Name, Index: index, UnixNano: unixNano}
	return t.put(bucketDropped, u64(d.ID), d.encode())
}

// From returns tables in the order of ids, starting after the given id. It stops after limit tables
// or when they have bytes bytes. done means that there are no more.
func (t Tables) From(after uint64, limit, bytes int) (tables []*schemapb.Table, done bool, err error) {
	cur := t.tx.Bucket(bucketTables).Cursor()
	size := 0
	for k, v := cur.Seek(u64(after + 1)); k != nil; k, v = cur.Next() {
		if len(tables) == limit || size >= bytes {
			return tables, false, nil
		}
		table := &schemapb.Table{}
		if err := proto.Unmarshal(v, table); err != nil {
			return nil, false, fmt.Errorf("table %d: %w", number(k), err)
		}
		tables, size = append(tables, table), size+len(v)
	}
	return tables, true, nil
}

// Dropped is a dropped table.
type Dropped struct {
	ID             uint64
	Database, Name string
	// Index and UnixNano are the index and the time of the command that dropped it.
	Index    uint64
	UnixNano int64
}

func (d Dropped) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, d.Index)
	b = binary.BigEndian.AppendUint64(b, uint64(d.UnixNano))
	return append(b, nameKey(d.Database, d.Name)...)
}

// DroppedFrom returns at most limit dropped tables in the order of ids, starting after the given
// id.
func (t Tables) DroppedFrom(after uint64, limit int) []Dropped {
	var out []Dropped
	cur := t.tx.Bucket(bucketDropped).Cursor()
	for k, v := cur.Seek(u64(after + 1)); k != nil && len(out) < limit; k, v = cur.Next() {
		d := Dropped{ID: number(k)}
		if len(v) >= 16 {
			d.Index, d.UnixNano = binary.BigEndian.Uint64(v), int64(binary.BigEndian.Uint64(v[8:]))
			for i, c := range v[16:] {
				if c == 0 {
					d.Database, d.Name = string(v[16:16+i]), string(v[17+i:])
					break
				}
			}
		}
		out = append(out, d)
	}
	return out
}

// Place stores a changed table. old is its previous placement.
func (t Tables) Place(table, old *schemapb.Table) error {
	if err := t.addLoads(old, -1); err != nil {
		return err
	}
	if err := t.addLoads(table, 1); err != nil {
		return err
	}
	return t.Put(table)
}

// addLoads counts the table at the shards that take its writes.
func (t Tables) addLoads(table *schemapb.Table, delta int64) error {
	for _, shard := range Writable(table) {
		if err := Shards(t).addLoad(shard, delta); err != nil {
			return err
		}
	}
	return nil
}

// Writable returns the shards that take the table's writes.
func Writable(table *schemapb.Table) []uint32 {
	n := len(table.Placement)
	if n == 0 {
		return nil
	}
	p := table.Placement[n-1]
	return append([]uint32{p.ShardId}, p.MoreShards...)
}

// LastShard returns the last shard of a placement.
func LastShard(p *schemapb.Placement) uint32 {
	if n := len(p.MoreShards); n > 0 {
		return p.MoreShards[n-1]
	}
	return p.ShardId
}

// NextID returns an id that no table ever had.
func (t Tables) NextID() (uint64, error) { return t.count(keyLastTable, 1) }

// LastID returns the highest id that a table ever had.
func (t Tables) LastID() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyLastTable)) }

// RaiseID makes new table ids start after the given one.
func (t Tables) RaiseID(last uint64) error { return t.put(bucketMeta, keyLastTable, u64(last)) }

// Count returns the number of tables.
func (t Tables) Count() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyTables)) }

// InDatabase returns the ids of a database's tables in the order of their names, at most limit of
// them; 0 means all.
func (t Tables) InDatabase(database string, limit int) []uint64 {
	var ids []uint64
	prefix := databasePrefix(database)
	cur := t.tx.Bucket(bucketNames).Cursor()
	for k, v := cur.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		ids = append(ids, number(v))
		if limit > 0 && len(ids) == limit {
			break
		}
	}
	return ids
}
