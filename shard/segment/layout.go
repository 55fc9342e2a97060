package segment

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// Layouts lists the columns of each table in a shared file, as field ids by the table's id.
type Layouts map[uint64][]uint32

// ColumnsOf returns the columns of a table in the file by their ids, with the names and types that
// they had when the segment was written. Two tables of a shared file may have a column with the
// same id. A row is null in the column of the other table. If the table's column was renamed since,
// only the file shows which of the two belongs to the table. In this case ColumnsOf calls layouts,
// which may be nil.
func (m *Meta) ColumnsOf(t *schema.Table, layouts func() Layouts) []Column {
	list, ambiguous := m.Candidates(t)
	if !ambiguous {
		return list
	}
	var fields []uint32
	if layouts != nil {
		fields = layouts()[t.ID]
	}
	return Choose(list, fields, func(c *Column) (id, field uint32) { return c.ID, c.FieldID })
}

// Candidates returns the columns of the file that may be a table's. If several have the same id, ambiguous is true, and
// Choose tells which of them is the table's.
func (m *Meta) Candidates(t *schema.Table) (list []Column, ambiguous bool) {
	if !m.Shared() {
		return m.Columns, false
	}
	defs := make(map[uint32]int, len(t.Columns))
	for i := range t.Columns {
		defs[t.Columns[i].ID] = i
	}
	found := make([][]*Column, len(t.Columns))
	for i := range m.Columns {
		c := &m.Columns[i]
		if c.ID == schema.DeletedColumnID {
			list = append(list, *c)
			continue
		}
		at, ok := defs[c.ID]
		if !ok || c.Semantic != t.Columns[at].Semantic || c.Type.Widens(t.Columns[at].Type) == schema.WidensNever {
			continue
		}
		found[at] = append(found[at], c)
		ambiguous = ambiguous || len(found[at]) > 1
	}
	for at, same := range found {
		// Older versions did not record field ids. The column with the same name and type is then the likely one.
		likely := max(0, slices.IndexFunc(same, func(c *Column) bool {
			return c.Type == t.Columns[at].Type && c.TableName() == t.Columns[at].Name
		}))
		for i := range same {
			list = append(list, *same[(likely+i)%len(same)])
		}
	}
	return list, ambiguous
}

// Choose returns one column for each id of candidates: the one that is among the table's field ids in the file, or else
// the first one.
func Choose[C any](candidates []C, fields []uint32, idsOf func(*C) (id, field uint32)) (list []C) {
	at := make(map[uint32]int, len(candidates))
	for i := range candidates {
		id, field := idsOf(&candidates[i])
		have, ok := at[id]
		switch {
		case !ok:
			at[id] = len(list)
			list = append(list, candidates[i])
		case slices.Contains(fields, field):
			list[have] = candidates[i]
		}
	}
	return list
}

// ReadLayouts reads the layouts of a shared file. Files of older versions have none. If the file is
// damaged, it returns an *ErrCorrupt.
func ReadLayouts(fsys vfs.FS, path string) (Layouts, error) {
	size, err := fsys.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the columns of the tables in %s: %w", path, err)
	}
	return ReadColdLayouts(fsys, path, size)
}

// ReadColdLayouts is like ReadLayouts, for a file that begins with an object of a given size.
func ReadColdLayouts(fsys vfs.FS, path string, size int64) (Layouts, error) {
	fail := func(err error) (Layouts, error) {
		if damage := (*parquet.ErrCorrupt)(nil); errors.As(err, &damage) {
			return nil, corruptFile(path, damage)
		}
		return nil, fmt.Errorf("read the columns of the tables in %s: %w", path, err)
	}
	f, err := fsys.Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	md, err := parquet.ReadFooter(f, size)
	if err != nil {
		return fail(err)
	}
	out := Layouts{}
	for i := range md.KeyValueMetadata {
		kv := &md.KeyValueMetadata[i]
		if kv.Key != KeyTables {
			continue
		}
		var tables []struct {
			ID      uint64   `json:"id"`
			Columns []uint32 `json:"columns"`
		}
		if err := json.Unmarshal([]byte(kv.Value), &tables); err != nil {
			return fail(&parquet.ErrCorrupt{Part: "metadata " + KeyTables, Want: "a list of tables", Got: err.Error()})
		}
		same := map[string][]uint32{} // most tables have the same columns as others
		for _, t := range tables {
			if t.Columns == nil {
				continue
			}
			key := fmt.Sprint(t.Columns)
			if same[key] == nil {
				same[key] = t.Columns
			}
			out[t.ID] = same[key]
		}
	}
	return out, nil
}
