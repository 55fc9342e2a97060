package shard

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

// maxTableColumns bounds the columns of a table: a Parquet file cannot have more
// than 32,767.
const maxTableColumns = 30_000

// tableDef is a table as the shard uses it.
type tableDef struct {
	*schema.Table
	stored manifest.Table
	byID   []columnAt // by id
	// merge is how rows of one identity become one.
	merge query.Merge
	// instant: rows are thrown away at once. skipWAL: they do not go through the log.
	instant, skipWAL bool
	// physical is the name of the physical table, "" if there is none: the table shares
	// its segments with those of the same one, whatever its size.
	physical string
	// fault, if set, is why rows of the table could not be flushed; none are taken.
	fault error
}

type columnAt struct {
	id uint32
	at int32
}

// loadTableDef returns the definition that t holds.
func loadTableDef(t manifest.Table) (*tableDef, error) {
	p, err := t.Decode()
	if err != nil {
		return nil, err
	}
	return newTableDef(p, t), nil
}

// newTableDef returns the definition p, whose encoded form is stored.
func newTableDef(p *schemapb.Table, stored manifest.Table) *tableDef {
	d := &tableDef{Table: schema.FromProto(p), stored: stored, byID: make([]columnAt, len(p.Columns))}
	d.merge = query.MergeOf(d.Table)
	d.instant = d.Options[schema.OptionTTL] == "instant"
	d.skipWAL = d.Options[schema.OptionSkipWAL] == "true"
	d.physical = d.Options[schema.OptionPhysicalTable]
	for i := range d.Columns {
		d.byID[i] = columnAt{d.Columns[i].ID, int32(i)}
	}
	slices.SortStableFunc(d.byID, func(a, b columnAt) int { return cmp.Compare(a.id, b.id) })
	timeIndexes := 0
	for i := range d.Columns {
		c := &d.Columns[i]
		at, _ := d.column(c.ID)
		twice := at != i
		switch {
		case c.ID == 0 || c.ID == schema.DeletedColumnID || twice:
			d.fault = fmt.Errorf("column %q has id %d, which is not its own", c.Name, c.ID)
		case !c.Type.Valid() || p.Columns[i].Type != schemapb.Type(c.Type):
			d.fault = fmt.Errorf("column %q has the unknown type %d", c.Name, p.Columns[i].Type)
		case c.Semantic == schema.Timestamp:
			timeIndexes++
			if !c.Type.IsTimestamp() {
				d.fault = fmt.Errorf("time index %q has type %s", c.Name, c.Type)
			}
		}
	}
	if d.fault == nil && timeIndexes != 1 {
		d.fault = fmt.Errorf("the table has %d time indexes, want one", timeIndexes)
	}
	if len(d.Columns) > maxTableColumns {
		d.fault = fmt.Errorf("the table has %d columns, at most %d can be stored", len(d.Columns), maxTableColumns)
	}
	return d
}

// column returns where the column of that id is; the first one if there are several.
func (d *tableDef) column(id uint32) (at int, ok bool) {
	i, ok := slices.BinarySearchFunc(d.byID, id, func(c columnAt, id uint32) int { return cmp.Compare(c.id, id) })
	if !ok {
		return 0, false
	}
	return int(d.byID[i].at), true
}

// newer tells whether d should replace old.
func (d *tableDef) newer(old *tableDef) bool {
	if d.Version != old.Version {
		return d.Version > old.Version
	}
	return d.Writable().Epoch > old.Writable().Epoch
}

// parseTables decodes definitions that came with a write.
func parseTables(encoded [][]byte) ([]*tableDef, error) {
	var defs []*tableDef
	for _, b := range encoded {
		p := &schemapb.Table{}
		if err := proto.Unmarshal(b, p); err != nil {
			return nil, err
		}
		// The bytes are part of an entry of the log, which is larger.
		defs = append(defs, newTableDef(p, manifest.Table{ID: p.Id, Def: bytes.Clone(b)}))
	}
	return defs, nil
}
