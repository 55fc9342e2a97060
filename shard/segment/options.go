package segment

import (
	"encoding/json"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

func (w *Writer) columns(ts *tableSlots, batches []*column.Batch, rows []RowRef) []*fileColumn {
	if w.cols == nil {
		if w.spec.Shared {
			w.cols = append(w.cols, &fileColumn{Column: Column{Name: TableColumn, FieldID: TableFieldID, Type: schema.Uint64}, required: true, bounds: true})
		}
		for i, c := range w.meta.Columns {
			w.cols = append(w.cols, &fileColumn{Column: c, required: w.slots.required[i], bloomBits: bloomBits(w.slots.defs[i]), fulltext: newFulltext(w.slots.defs[i])})
		}
	}
	cols := w.cols
	if w.spec.Shared {
		cols[0].table = ts.table.ID
		cols = cols[1:]
	}
	for _, c := range cols {
		c.views = make([]*column.View, len(batches))
	}
	for i, b := range batches {
		for j := range b.Cols {
			v := &b.Cols[j]
			if at, ok := ts.byID[v.ID]; ok && v.Nulls < v.Rows {
				cols[at].views[i] = v
			}
		}
	}
	if w.w == nil {
		for _, c := range w.cols {
			c.choose(rows)
		}
	}
	return w.cols
}

func (w *Writer) open() error {
	options, err := w.options()
	if err != nil {
		return err
	}
	config, err := parquet.NewWriterConfig(options...)
	if err != nil {
		return fmt.Errorf("parquet writer: %w", err)
	}
	w.w = parquet.NewWriter(w.out, config)
	return nil
}

func (w *Writer) endGroup() error {
	w.rows = 0
	for _, c := range w.cols {
		if c.fulltext != nil {
			c.fulltext.end()
		}
	}
	return w.w.Flush()
}

func (w *Writer) close() error {
	filters, err := fulltextMetadata(w.cols)
	if err != nil {
		return fmt.Errorf("token filters: %w", err)
	}
	if filters != "" {
		w.w.SetKeyValueMetadata(KeyFulltext, filters)
	}
	return w.w.Close()
}

func (w *Writer) options() ([]parquet.WriterOption, error) {
	type jsonColumn struct {
		ID       uint32 `json:"id"`
		Name     string `json:"name"`
		Type     string `json:"type"`
		Semantic string `json:"semantic"`
		// In the file; left out if it is the name.
		Physical string `json:"physical,omitempty"`
		// Left out if it is the id.
		Field uint32 `json:"field,omitempty"`
	}
	cols := w.cols
	if w.spec.Shared {
		cols = cols[1:]
	}
	list := make([]jsonColumn, len(cols))
	root := make(rootNode, len(w.cols))
	var sorting []parquet.SortingColumn
	if w.spec.Shared {
		sorting = append(sorting, parquet.Ascending(TableColumn))
	}
	var filters []parquet.BloomFilterColumn
	options := []parquet.WriterOption{
		parquet.Compression(zstdCodec), parquet.DataPageVersion(1), parquet.DataPageStatistics(false), parquet.PageBufferSize(pageBytes), parquet.WriteBufferSize(256 << 10),
		parquet.DictionaryMaxBytes(maxDictionaryBytes), parquet.CreatedBy("cordwood", "1", ""),
	}
	for i, c := range cols {
		list[i] = jsonColumn{ID: c.ID, Name: c.TableName(), Type: c.Type.String(), Semantic: c.Semantic.String()}
		if c.Logical != "" {
			list[i].Physical = c.Name
		}
		if c.FieldID != c.ID {
			list[i].Field = c.FieldID
		}
		if !w.spec.Shared && c.Semantic == schema.Tag {
			sorting = append(sorting, parquet.NullsFirst(parquet.Ascending(c.Name)))
		}
		if !c.bounds {
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
		if c.bloomBits > 0 {
			filters = append(filters, parquet.SplitBlockFilter(c.bloomBits, c.Name))
		}
	}
	for i, c := range w.cols {
		root[i] = rootField{Node: c.node(), name: c.Name}
		if !w.spec.Shared && c.Semantic == schema.Timestamp {
			sorting = append(sorting, parquet.Ascending(c.Name))
		}
	}
	columns, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("columns as JSON: %w", err)
	}
	key, of, err := w.tablesJSON()
	if err != nil {
		return nil, fmt.Errorf("tables as JSON: %w", err)
	}
	return append(options,
		parquet.NewSchema("cordwood", root),
		parquet.KeyValueMetadata(KeyColumns, string(columns)),
		parquet.KeyValueMetadata(key, string(of)),
		parquet.BloomFilters(filters...),
		parquet.SortingWriterConfig(parquet.SortingColumns(sorting...)),
	), nil
}

// tablesJSON is the metadata of the tables, and its key.
func (w *Writer) tablesJSON() (string, []byte, error) {
	var list []map[string]any
	for _, t := range w.spec.Tables {
		list = append(list, map[string]any{
			"id": t.Table.ID, "database": t.Table.Database, "name": t.Table.Name, "version": t.Table.Version, "segment": w.meta.ID,
		})
	}
	if w.spec.Shared {
		b, err := json.Marshal(list)
		return KeyTables, b, err
	}
	b, err := json.Marshal(list[0])
	return KeyTable, b, err
}
