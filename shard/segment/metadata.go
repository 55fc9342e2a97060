package segment

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/schema"
)

// sorting returns the order of the rows. For a shared file it contains only the table's id, because
// each table has its own order.
func (w *Writer) sorting() []format.SortingColumn {
	if w.spec.Shared {
		return []format.SortingColumn{{ColumnIdx: 0}}
	}
	var by []format.SortingColumn
	for i, c := range w.cols {
		if c.Semantic == schema.Tag {
			by = append(by, format.SortingColumn{ColumnIdx: int32(i), NullsFirst: true})
		}
	}
	for i, c := range w.cols {
		if c.Semantic == schema.Timestamp {
			by = append(by, format.SortingColumn{ColumnIdx: int32(i)})
		}
	}
	return by
}

// metadata returns the key-value metadata of the file.
func (w *Writer) metadata() ([]format.KeyValue, error) {
	type jsonColumn struct {
		ID       uint32 `json:"id"`
		Name     string `json:"name"`
		Type     string `json:"type"`
		Semantic string `json:"semantic"`
		// The name in the file; omitted if it equals Name.
		Physical string `json:"physical,omitempty"`
		// The field id; omitted if it equals ID.
		Field uint32 `json:"field,omitempty"`
	}
	list := make([]jsonColumn, len(w.meta.Columns))
	for i := range w.meta.Columns {
		c := &w.meta.Columns[i]
		list[i] = jsonColumn{ID: c.ID, Name: c.TableName(), Type: c.Type.String(), Semantic: c.Semantic.String()}
		if c.Logical != "" {
			list[i].Physical = c.Name
		}
		if c.FieldID != c.ID {
			list[i].Field = c.FieldID
		}
	}
	columns, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode the columns as JSON: %w", err)
	}
	key, of, err := w.tablesJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the tables as JSON: %w", err)
	}
	kv := []format.KeyValue{{Key: KeyColumns, Value: string(columns)}, {Key: key, Value: string(of)}}
	filters, err := fulltextMetadata(w.cols)
	if err != nil {
		return nil, fmt.Errorf("token filters: %w", err)
	}
	if filters != "" {
		kv = append(kv, format.KeyValue{Key: KeyFulltext, Value: filters})
	}
	return kv, nil
}

// tablesJSON returns the metadata of the tables, and its key.
func (w *Writer) tablesJSON() (string, []byte, error) {
	var list []map[string]any
	for _, t := range w.spec.Tables {
		of := map[string]any{
			"id": t.Table.ID, "database": t.Table.Database, "name": t.Table.Name, "version": t.Table.Version,
			"segment": w.meta.ID,
		}
		if w.spec.Shared {
			fields := []uint32{}
			for _, at := range w.slots.tables[t.Table.ID].byID {
				fields = append(fields, w.slots.columns[at].FieldID)
			}
			slices.Sort(fields)
			of["columns"] = fields
		}
		list = append(list, of)
	}
	if w.spec.Shared {
		b, err := json.Marshal(list)
		return KeyTables, b, err
	}
	b, err := json.Marshal(list[0])
	return KeyTable, b, err
}
