// Package segment writes and checks the immutable files that flushed rows live in:
// ordinary Parquet files, one for each table and time partition of a flush, that any
// tool reads.
//
// It does not decide which segments exist (package manifest does), and it does not
// read rows: the engine does, by the names and types in Meta.
//
// The file: rows ordered by (tags, time index), null tags first; row groups of
// RowGroupRows rows; zstd; one column per column of the table that has a value, in
// the table's order, with the column's id as field id. Types
// and encodings are chosen in schema.go. The key-value metadata cordwood.columns has
// the columns as JSON, cordwood.table the table they are of.
//
// Write works column by column from the batches in memory, through a permutation; no
// row is ever put together. Its functions keep no state and may be called
// concurrently.
package segment

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

// DefaultRowGroupRows is the number of rows of a row group if Config does not say.
// It is what the engine reads as one unit of work.
const DefaultRowGroupRows = 122_880

// The keys of the Parquet key-value metadata. They are part of the format.
const (
	KeyColumns = "cordwood.columns"
	KeyTable   = "cordwood.table"
)

const pageBytes = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Config says where segments are written.
type Config struct {
	FS  vfs.FS
	Dir string
	// RowGroupRows is the most rows of a row group. The default value is DefaultRowGroupRows.
	RowGroupRows int
	// NextID returns the id of the next segment.
	NextID func() uint64
}

// Write writes the rows of a table's batches to segments, one for each UTC day of
// the time index, or of a longer span if there were more than MaxPartitions of them.
//
// When it returns nil every file is on disk under its final name; the names are
// durable after a SyncDir of the directory, which is the caller's, so that one is
// enough for many tables. After an error none of its files is left, as far as they
// could be removed.
//
// Every batch must be of table and hold its time index; the batches must stay
// readable until Write returns.
func Write(cfg Config, table *schema.Table, batches []*column.Batch) (metas []Meta, err error) {
	if cfg.RowGroupRows <= 0 {
		cfg.RowGroupRows = DefaultRowGroupRows
	}
	defer func() {
		if err == nil {
			return
		}
		for _, m := range metas {
			err = errors.Join(err, cfg.FS.Remove(filepath.Join(cfg.Dir, FileName(m.ID))))
		}
		metas = nil
	}()
	timeIndex := table.TimeIndex()
	if timeIndex == nil {
		return nil, fmt.Errorf("write segments of table %d: it has no time index", table.ID)
	}
	parts, err := partition(batches, timeIndex)
	if err != nil {
		return nil, fmt.Errorf("write segments of table %d: %w", table.ID, err)
	}
	keys := sortKeys(table, batches)
	for _, rows := range parts {
		sortRows(rows, keys)
		m, err := writeFile(cfg, table, batches, rows)
		if err != nil {
			return metas, fmt.Errorf("write segment %s of table %d: %w", FileName(m.ID), table.ID, err)
		}
		metas = append(metas, m)
	}
	return metas, nil
}

// writeFile writes the rows as one segment.
func writeFile(cfg Config, table *schema.Table, batches []*column.Batch, rows []rowRef) (m Meta, err error) {
	m = Meta{ID: cfg.NextID(), TableID: table.ID, SchemaVersion: table.Version, Rows: int64(len(rows))}
	m.MinTime, m.MaxTime = rows[0].time, rows[0].time
	for i := range rows {
		m.MinTime, m.MaxTime = min(m.MinTime, rows[i].time), max(m.MaxTime, rows[i].time)
	}
	cols := fileColumns(table, batches, rows)
	for _, c := range cols {
		m.Columns = append(m.Columns, c.Column)
	}
	temp := filepath.Join(cfg.Dir, TempName(FileName(m.ID)))
	f, err := cfg.FS.Create(temp)
	if err != nil {
		return m, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), cfg.FS.Remove(temp))
		}
	}()
	out := &checksummer{f: f}
	if err := writeParquet(out, cfg.RowGroupRows, table, m.ID, cols, rows); err != nil {
		return m, err
	}
	m.Bytes, m.FileCRC = out.n, out.crc
	if m.FooterCRC, err = footerCRC(f, m.Bytes); err != nil {
		return m, fmt.Errorf("read back the footer: %w", err)
	}
	if err := f.Sync(); err != nil {
		return m, err
	}
	if err := cfg.FS.Rename(temp, filepath.Join(cfg.Dir, FileName(m.ID))); err != nil {
		return m, err
	}
	f.Close() // synced; nothing depends on it
	return m, nil
}

// writeParquet writes the whole Parquet file.
func writeParquet(out io.Writer, groupRows int, table *schema.Table, id uint64, cols []*fileColumn, rows []rowRef) error {
	options, err := writerOptions(table, id, cols)
	if err != nil {
		return err
	}
	config, err := parquet.NewWriterConfig(options...)
	if err != nil {
		return fmt.Errorf("parquet writer: %w", err)
	}
	w := parquet.NewWriter(out, config)
	var fill filler
	for len(rows) > 0 {
		group := rows[:min(len(rows), groupRows)]
		rows = rows[len(group):]
		writers := w.ColumnWriters()
		for i, c := range cols {
			if err := fill.column(writers[i], c, group); err != nil {
				return fmt.Errorf("column %q: %w", c.Name, err)
			}
			if c.fulltext != nil {
				c.fulltext.group(c, group)
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	filters, err := fulltextMetadata(cols)
	if err != nil {
		return fmt.Errorf("token filters: %w", err)
	}
	if filters != "" {
		w.SetKeyValueMetadata(KeyFulltext, filters)
	}
	return w.Close()
}

func writerOptions(table *schema.Table, id uint64, cols []*fileColumn) ([]parquet.WriterOption, error) {
	type jsonColumn struct {
		ID       uint32 `json:"id"`
		Name     string `json:"name"`
		Type     string `json:"type"`
		Semantic string `json:"semantic"`
		// In the file; left out if it is the name.
		Physical string `json:"physical,omitempty"`
	}
	list := make([]jsonColumn, len(cols))
	root := make(rootNode, len(cols))
	var sorting []parquet.SortingColumn
	var filters []parquet.BloomFilterColumn
	options := []parquet.WriterOption{
		parquet.Compression(zstdCodec), parquet.DataPageVersion(1), parquet.DataPageStatistics(false), parquet.PageBufferSize(pageBytes), parquet.WriteBufferSize(256 << 10),
		parquet.DictionaryMaxBytes(maxDictionaryBytes), parquet.CreatedBy("cordwood", "1", ""),
	}
	for i, c := range cols {
		list[i] = jsonColumn{ID: c.ID, Name: c.logical, Type: c.Type.String(), Semantic: c.Semantic.String()}
		if c.Name != c.logical {
			list[i].Physical = c.Name
		}
		root[i] = rootField{Node: c.node(), name: c.Name}
		if c.Semantic == schema.Tag {
			sorting = append(sorting, parquet.NullsFirst(parquet.Ascending(c.Name)))
		}
		if !c.bounds {
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
		if c.bloomBits > 0 {
			filters = append(filters, parquet.SplitBlockFilter(c.bloomBits, c.Name))
		}
	}
	for _, c := range cols {
		if c.Semantic == schema.Timestamp {
			sorting = append(sorting, parquet.Ascending(c.Name))
		}
	}
	columns, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("columns as JSON: %w", err)
	}
	of, err := json.Marshal(map[string]any{
		"id": table.ID, "database": table.Database, "name": table.Name, "version": table.Version, "segment": id,
	})
	if err != nil {
		return nil, fmt.Errorf("table as JSON: %w", err)
	}
	return append(options,
		parquet.NewSchema("cordwood", root),
		parquet.KeyValueMetadata(KeyColumns, string(columns)),
		parquet.KeyValueMetadata(KeyTable, string(of)),
		parquet.BloomFilters(filters...),
		parquet.SortingWriterConfig(parquet.SortingColumns(sorting...)),
	), nil
}

// checksummer counts and checksums what goes into a file.
type checksummer struct {
	f   io.Writer
	n   int64
	crc uint32
}

func (c *checksummer) Write(p []byte) (int, error) {
	n, err := c.f.Write(p)
	c.n += int64(n)
	c.crc = crc32.Update(c.crc, castagnoli, p[:n])
	return n, err
}
