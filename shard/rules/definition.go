package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
)

// MaxColumns is the maximum number of columns of a table: a Parquet file cannot have more than
// 32,767.
const MaxColumns = 30_000

// Definition is a table as the shard uses it.
type Definition struct {
	*schema.Table
	stored manifest.Table
	byID   []columnPlace // by id
	// Merge is the merge mode of the table's rows.
	Merge query.Merge
	// Instant means that rows are discarded at once. SkipWAL means that rows do not go through the
	// log.
	Instant, SkipWAL bool
	// Physical is the name of the physical table, or "" if there is none. Tables with the same
	// physical table share segments, whatever their size.
	Physical string
	// Fault, if set, is the reason why rows of the table could not be flushed, so that they are
	// refused.
	Fault error
}

type columnPlace struct {
	id uint32
	at int32
}

// loadDefinition returns the definition that t holds.
func loadDefinition(t manifest.Table) (*Definition, error) {
	p, err := t.Decode()
	if err != nil {
		return nil, err
	}
	return NewDefinition(p, t), nil
}

// NewDefinition returns the definition p, whose encoded form is stored.
func NewDefinition(p *schemapb.Table, stored manifest.Table) *Definition {
	d := &Definition{Table: schema.FromProto(p), stored: stored, byID: make([]columnPlace, len(p.Columns))}
	d.Merge = query.MergeOf(d.Table)
	d.Instant = d.Options[schema.OptionTTL] == "instant"
	d.SkipWAL = d.Options[schema.OptionSkipWAL] == "true"
	d.Physical = d.Options[schema.OptionPhysicalTable]
	for i := range d.Columns {
		d.byID[i] = columnPlace{d.Columns[i].ID, int32(i)}
	}
	slices.SortStableFunc(d.byID, func(a, b columnPlace) int { return cmp.Compare(a.id, b.id) })
	timeIndexes := 0
	for i := range d.Columns {
		c := &d.Columns[i]
		at, _ := d.columnAt(c.ID)
		twice := at != i
		switch {
		case c.ID == 0 || c.ID == schema.DeletedColumnID || twice:
			d.Fault = fmt.Errorf("column %q has the id %d, which another column has too", c.Name, c.ID)
		case !c.Type.Valid() || p.Columns[i].Type != schemapb.Type(c.Type):
			d.Fault = fmt.Errorf("column %q has the unknown type %d", c.Name, p.Columns[i].Type)
		case c.Semantic == schema.Timestamp:
			timeIndexes++
			if !c.Type.IsTimestamp() {
				d.Fault = fmt.Errorf("time index %q has type %s", c.Name, c.Type)
			}
		}
	}
	if d.Fault == nil && timeIndexes != 1 {
		d.Fault = fmt.Errorf("the table has %d time indexes, want one", timeIndexes)
	}
	if len(d.Columns) > MaxColumns {
		d.Fault = fmt.Errorf("the table has %d columns, at most %d can be stored", len(d.Columns), MaxColumns)
	}
	return d
}

// columnAt returns the position of the column with this id. If there are several, it is the first.
func (d *Definition) columnAt(id uint32) (at int, ok bool) {
	i, ok := slices.BinarySearchFunc(d.byID, id, func(c columnPlace, id uint32) int { return cmp.Compare(c.id, id) })
	if !ok {
		return 0, false
	}
	return int(d.byID[i].at), true
}

// NewerThan reports whether d should replace old.
func (d *Definition) NewerThan(old *Definition) bool {
	if d.Version != old.Version {
		return d.Version > old.Version
	}
	return d.Writable().Epoch > old.Writable().Epoch
}

// ParseTables decodes definitions that arrived with a write.
func ParseTables(encoded [][]byte) ([]*Definition, error) {
	var defs []*Definition
	for _, b := range encoded {
		p := &schemapb.Table{}
		if err := proto.Unmarshal(b, p); err != nil {
			return nil, err
		}
		// Copy the bytes, because they are a part of a log entry, which is larger.
		defs = append(defs, NewDefinition(p, manifest.Table{ID: p.Id, Def: bytes.Clone(b)}))
	}
	return defs, nil
}
