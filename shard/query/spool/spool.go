// Package spool keeps rows that a query has fetched from other shards until the query ends. A few
// rows stay in memory as batches; more are written to temporary segments, which the engine reads
// like other segments.
//
// A Dir belongs to a process and limits the memory and disk space of all spools together. Its
// methods may be called concurrently; a Spool belongs to one goroutine.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

const (
	// batchRows and batchBytes are the maximum size of a batch.
	batchRows  = 16 << 10
	batchBytes = 2 << 20
	// keepBytes is the number of bytes that a spool keeps in memory before it writes a segment.
	// leastBytes is the limit if the memory of all spools is used up.
	keepBytes  = 16 << 20
	leastBytes = 2 << 20
)

// Dir is the folder of temporary segments.
type Dir struct {
	path          string
	limit, memory int64
	used, kept    atomic.Int64
	next          atomic.Uint64
}

// Open empties the folder at path and returns its Dir. The folder holds at most limit bytes at a
// time. In addition, the spools use about memory bytes of memory. The folder is created when it is
// needed.
func Open(path string, limit, memory int64) (*Dir, error) {
	if err := os.RemoveAll(path); err != nil {
		return nil, fmt.Errorf("empty the folder of temporary segments: %w", err)
	}
	return &Dir{path: path, limit: limit, memory: memory}, nil
}

// Used returns the number of bytes in the folder.
func (d *Dir) Used() int64 { return d.used.Load() }

// Spool holds the rows of one table that one query has fetched.
type Spool struct {
	dir     *Dir
	table   *schema.Table
	columns []schema.Column
	// untimed means that the last column is the time index and is not among the rows that are read: its value is at in
	// all of them.
	untimed  bool
	at       int64
	kept     int64 // counted in Dir.kept
	builder  *column.Builder
	cols     []*column.Col
	batches  []*column.Batch
	bytes    int64
	segments []query.Segment
	size     int64 // of the segments
}

// New returns an empty Spool for the columns of a table with the given ids. If the time index is not among them, all
// rows get the time at, because batches and segments need one. The caller must call Close.
func (d *Dir) New(table *schema.Table, ids []uint32, at int64) (*Spool, error) {
	s := &Spool{dir: d, table: table, builder: &column.Builder{}, at: at}
	timed := false
	for _, id := range ids {
		c := columnOf(table, id)
		if c == nil {
			return nil, errs.New(errs.Internal, "spool: table %s.%s has no column of id %d", table.Database, table.Name, id)
		}
		timed = timed || c.Semantic == schema.Timestamp
		s.columns = append(s.columns, *c)
	}
	if !timed {
		index := table.TimeIndex()
		if index == nil {
			return nil, errs.New(errs.Internal, "spool: table %s.%s has no time index", table.Database, table.Name)
		}
		s.columns, s.untimed = append(s.columns, *index), true
	}
	if d.kept.Add(keepBytes) <= d.memory {
		s.kept = keepBytes
	} else {
		d.kept.Add(-keepBytes)
	}
	s.begin()
	return s, nil
}

func columnOf(table *schema.Table, id uint32) *schema.Column {
	for i := range table.Columns {
		if table.Columns[i].ID == id {
			return &table.Columns[i]
		}
	}
	return nil
}

// begin starts a batch.
func (s *Spool) begin() {
	s.builder.Reset()
	s.cols = s.cols[:0]
	for _, c := range s.columns {
		s.cols = append(s.cols, s.builder.Add(c))
	}
}

// Read adds the rows of an Arrow IPC stream whose columns are the spool's, in the same order.
func (s *Spool) Read(r io.Reader) error {
	stream, err := ipc.NewReader(r)
	if err != nil {
		return err
	}
	defer stream.Release()
	sent := len(s.columns)
	if s.untimed {
		sent--
	}
	if n := stream.Schema().NumFields(); n != sent {
		return errs.New(errs.Internal, "spool: a stream has %d columns instead of %d", n, sent)
	}
	if s.widen(stream.Schema()) {
		s.begin()
	}
	for stream.Next() {
		rec := stream.RecordBatch()
		for from, rows := 0, int(rec.NumRows()); from < rows; {
			at := s.builder.Rows()
			n := min(rows-from, batchRows-at)
			for i, col := range s.cols[:sent] {
				if err := fill(col, at, rec.Column(i), from, n); err != nil {
					return err
				}
			}
			for i := range n {
				if s.untimed {
					s.cols[sent].SetInt(at+i, s.at)
				}
				s.builder.EndRow()
			}
			from += n
			if s.builder.Rows() >= batchRows || s.builder.ByteSize() >= batchBytes {
				if err := s.end(); err != nil {
					return err
				}
			}
		}
	}
	return stream.Err()
}

// widen gives columns the type of the values that arrive, if it is wider, because the shard that
// sends them knows a newer definition of the table. It reports whether a column changed. It must be
// called before rows are read.
func (s *Spool) widen(from *arrow.Schema) (changed bool) {
	for i := range from.NumFields() {
		c := &s.columns[i]
		t, ok := arrowTypes[from.Field(i).Type.ID()]
		if !ok || t == c.Type || c.Type.Widens(t) == schema.WidensNever {
			continue
		}
		if !changed {
			table := *s.table
			table.Columns = slices.Clone(table.Columns)
			s.table = table.Index()
		}
		changed, c.Type = true, t
		columnOf(s.table, c.ID).Type = t
	}
	return changed
}

// arrowTypes are the Arrow types of the column types that other types widen to.
var arrowTypes = map[arrow.Type]schema.Type{
	arrow.INT16: schema.Int16, arrow.INT32: schema.Int32, arrow.INT64: schema.Int64,
	arrow.UINT16: schema.Uint16, arrow.UINT32: schema.Uint32, arrow.UINT64: schema.Uint64, arrow.FLOAT64: schema.Float64,
}

// Table returns the definition of the table with the types of the rows that were read.
func (s *Spool) Table() *schema.Table { return s.table }

// NumRows returns the number of rows that were read.
func (s *Spool) NumRows() int64 {
	n := int64(s.builder.Rows())
	for i := range s.segments {
		n += s.segments[i].Rows
	}
	for _, b := range s.batches {
		n += int64(b.Rows)
	}
	return n
}

// end ends the batch, and writes a segment if there are enough rows.
func (s *Spool) end() error {
	if s.builder.Rows() == 0 {
		return nil
	}
	s.builder.Finish()
	b, err := column.Decode(s.builder.Encode(nil, column.Header{TableID: s.table.ID, SchemaVersion: s.table.Version}), nil)
	if err != nil {
		return errs.Wrap(errs.Internal, err, "spool")
	}
	s.batches = append(s.batches, b)
	s.bytes += int64(len(b.Mem))
	s.begin()
	if s.bytes >= max(s.kept, leastBytes) {
		return s.write()
	}
	return nil
}

// write writes the batches to segments.
func (s *Spool) write() error {
	if s.dir.used.Load()+s.bytes > s.dir.limit {
		return errs.New(errs.RuntimeResourcesExhausted,
			"the rows that come from other nodes need more than the %d bytes of temporary space (--query-temp-limit); "+
				"narrow the time range, or read fewer columns", s.dir.limit)
	}
	if err := os.MkdirAll(s.dir.path, 0o700); err != nil {
		return errs.Wrap(errs.External, err, "spool")
	}
	metas, err := segment.Write(segment.Config{
		FS: vfs.OS, Dir: s.dir.path,
		NextID: func() uint64 { return s.dir.next.Add(1) },
	}, s.table, s.batches)
	if errors.Is(err, syscall.ENOSPC) {
		return &errs.Error{
			Code: errs.RuntimeResourcesExhausted, Err: err,
			Msg: "the rows that come from other nodes need more room than the disk of the data folder has; make room on it, " +
				"narrow the time range, or read fewer columns",
		}
	}
	if err != nil {
		return errs.Wrap(errs.External, err, "write rows from other nodes to a temporary file")
	}
	for i := range metas {
		m := &metas[i]
		seg := query.Segment{
			Path: filepath.Join(s.dir.path, segment.FileName(m.ID)), CRC: m.FileCRC, Order: m.ID,
			Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime,
		}
		for _, c := range m.Columns {
			seg.Columns = append(seg.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type})
		}
		s.segments = append(s.segments, seg)
		s.size += m.Bytes
		s.dir.used.Add(m.Bytes)
	}
	s.batches, s.bytes = nil, 0
	return nil
}

// Rows returns the rows that were read. They are valid until Close.
func (s *Spool) Rows() (segments []query.Segment, batches []*column.Batch, err error) {
	if err := s.end(); err != nil {
		return nil, nil, err
	}
	return s.segments, s.batches, nil
}

// Close removes the rows and files of the spool.
func (s *Spool) Close() error {
	var failed []error
	for _, seg := range s.segments {
		failed = append(failed, os.Remove(seg.Path))
	}
	s.dir.used.Add(-s.size)
	s.dir.kept.Add(-s.kept)
	s.segments, s.batches, s.size, s.kept = nil, nil, 0, 0
	return errors.Join(failed...)
}
