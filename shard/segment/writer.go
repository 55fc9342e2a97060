package segment

import (
	"errors"
	"fmt"
	"path/filepath"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// SharedRowGroupRows is the maximum number of rows of a row group in a shared file.
const SharedRowGroupRows = 16_384

// Spec describes the contents of a file that a Writer writes.
type Spec struct {
	// Tables are the tables to which rows may belong, in ascending order of ids. There is exactly
	// one unless Shared is set.
	Tables []TableColumns
	// Shared makes the Writer write a shared file, with the table of each row in TableColumn.
	Shared bool
}

// TableColumns lists the columns of a table in a file.
type TableColumns struct {
	Table *schema.Table
	// Columns are the ids of the columns that may have a value; all others are null in every row.
	// The time index may be omitted. Nil means all columns of the table. Function Columns returns
	// the columns of batches, and Meta.Columns holds the columns of a file. An id that is not in
	// the table is ignored.
	Columns []uint32
}

// Writer writes one file from rows that arrive in their final order, in pieces of any size. It
// holds at most the rows of one row group. It is not safe for concurrent use.
type Writer struct {
	cfg   Config
	spec  Spec
	slots *slots
	meta  Meta
	temp  string
	f     vfs.File
	out   *checksummer
	err   error // error of the first failed Append or Finish
	done  bool
	last  bool // whether no rows come after the current Append

	w       *parquet.Writer
	cols    []*fileColumn // including TableColumn if the file is shared
	rows    int           // staged rows of the current row group
	endAt   int           // the number of rows at which the current row group ends; 0 means when it is full
	weight  int64         // the weight of the staged rows
	scratch *gathered
	runs    []run
	single  [1]run // used by countFitting
}

// NewWriter creates the file under a temporary name, with the next id of cfg. The tables must have
// time indexes, and a shared file at most MaxSlots columns.
func NewWriter(cfg Config, spec Spec) (*Writer, error) {
	if len(spec.Tables) == 0 || len(spec.Tables) > 1 && !spec.Shared {
		return nil, &ErrRows{fmt.Errorf("write segment: %d tables for one file, shared: %v", len(spec.Tables), spec.Shared)}
	}
	if cfg.RowGroupRows <= 0 {
		cfg.RowGroupRows = DefaultRowGroupRows
		if spec.Shared {
			cfg.RowGroupRows = SharedRowGroupRows
		}
	}
	if cfg.Level <= 0 {
		cfg.Level = 1
	}
	slots, err := newSlots(&spec)
	if err != nil {
		return nil, &ErrRows{fmt.Errorf("write segment: %w", err)}
	}
	w := &Writer{cfg: cfg, spec: spec, slots: slots}
	w.meta = Meta{ID: cfg.NextID(), Order: cfg.Order, Columns: slots.columns}
	if !spec.Shared {
		w.meta.TableID, w.meta.SchemaVersion = spec.Tables[0].Table.ID, spec.Tables[0].Table.Version
	}
	w.temp = filepath.Join(cfg.Dir, TempName(FileName(w.meta.ID)))
	if w.f, err = cfg.FS.Create(w.temp); err != nil {
		return nil, fmt.Errorf("write segment %s: %w", FileName(w.meta.ID), err)
	}
	w.out = &checksummer{f: w.f}
	w.open()
	return w, nil
}

// ID returns the id of the segment.
func (w *Writer) ID() uint64 { return w.meta.ID }

// Append appends rows of a table's batches. Batch and Row of a RowRef identify the row, and Time is
// its time index. The rows of all calls must be in the order of Sort, which is the order of the
// file. In a shared file, all rows of tables with lower ids must come first, in any number of
// calls. Append keeps no reference to the batches. After an error only Abort may be called.
func (w *Writer) Append(table *schema.Table, batches []*column.Batch, rows []RowRef) error {
	return w.appendRows(table, batches, rows, false)
}

// AppendLast is like Append, for the last rows of the file. It needs less memory, because it
// writes a row group directly if no earlier rows belong to it.
func (w *Writer) AppendLast(table *schema.Table, batches []*column.Batch, rows []RowRef) error {
	return w.appendRows(table, batches, rows, true)
}

func (w *Writer) appendRows(table *schema.Table, batches []*column.Batch, rows []RowRef, last bool) error {
	w.last = last
	if w.err != nil {
		return w.err
	}
	if w.err = w.append(table, batches, rows); w.err != nil {
		w.err = w.classify(fmt.Errorf("write segment %s: %w", FileName(w.meta.ID), w.err))
	}
	return w.err
}

// classify converts an error to an ErrRows, unless a write to the file failed.
func (w *Writer) classify(err error) error {
	if w.out.failed {
		return err
	}
	return &ErrRows{err}
}

func (w *Writer) append(table *schema.Table, batches []*column.Batch, rows []RowRef) error {
	if len(rows) == 0 {
		return nil
	}
	ts := w.slots.tables[table.ID]
	if ts == nil {
		return fmt.Errorf("rows of table %d, which is not a table of this file", table.ID)
	}
	if err := w.note(ts.table, rows); err != nil {
		return err
	}
	w.bind(ts, batches)
	for len(rows) > 0 {
		limit := w.groupRows()
		part := rows[:min(len(rows), max(limit-w.rows, 1))]
		w.runs = appendRuns(w.runs[:0], part)
		n, weight, err := w.countFitting(part)
		if err != nil {
			return err
		}
		full := w.rows+n >= limit
		if n < len(part) {
			part, full = part[:n], true
			w.runs = appendRuns(w.runs[:0], part)
		}
		rows = rows[n:]
		if w.rows == 0 && (full || w.last && len(rows) == 0) {
			// All rows of the row group are present, so it can be written column by column.
			if err := w.group(n, false); err != nil {
				return err
			}
			continue
		}
		if n > 0 {
			w.stage(min(limit, n+len(rows)))
			w.rows, w.weight = w.rows+n, w.weight+weight
		}
		if full {
			if err := w.group(w.rows, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage adds the rows of w.runs to the current row group, which will have at most rows rows.
func (w *Writer) stage(rows int) {
	for _, c := range w.cols {
		if c.staged == nil {
			c.staged = scratches.Get().(*gathered)
		}
		if w.rows == 0 {
			c.staged.reset(c.plain, rows)
		}
		c.staged.add(c.Type, c.views, w.runs)
	}
}

// note updates the metadata for rows that are about to be appended.
func (w *Writer) note(table *schema.Table, rows []RowRef) error {
	lo, hi := rows[0].Time, rows[0].Time
	for i := range rows {
		lo, hi = min(lo, rows[i].Time), max(hi, rows[i].Time)
	}
	if w.spec.Shared {
		spans := w.meta.Tables
		n := len(spans)
		switch {
		case n > 0 && spans[n-1].TableID > table.ID:
			return fmt.Errorf("rows of table %d after rows of table %d", table.ID, spans[n-1].TableID)
		case n > 0 && spans[n-1].TableID == table.ID:
			s := &spans[n-1]
			s.Rows, s.MinTime, s.MaxTime = s.Rows+int64(len(rows)), min(s.MinTime, lo), max(s.MaxTime, hi)
		default:
			w.meta.Tables = append(spans, TableSpan{TableID: table.ID, Rows: int64(len(rows)), MinTime: lo, MaxTime: hi})
		}
		lo, hi = nanoseconds(lo, table.TimeIndex().Type), nanoseconds(hi, table.TimeIndex().Type)
	}
	if w.meta.Rows == 0 {
		w.meta.MinTime, w.meta.MaxTime = lo, hi
	}
	w.meta.Rows += int64(len(rows))
	w.meta.MinTime, w.meta.MaxTime = min(w.meta.MinTime, lo), max(w.meta.MaxTime, hi)
	return nil
}

// Finish completes the file. When it returns nil, the file is on disk under its final name. The
// caller must call SyncDir for the directory to make the name durable. After an error only Abort
// may be called. A file without rows is an error.
func (w *Writer) Finish() (Meta, error) {
	if w.err == nil && w.meta.Rows == 0 {
		w.err = fmt.Errorf("write segment %s: no rows", FileName(w.meta.ID))
	}
	if w.err != nil {
		return Meta{}, w.err
	}
	if err := w.finish(); err != nil {
		w.err = fmt.Errorf("write segment %s: %w", FileName(w.meta.ID), err)
		return Meta{}, w.err
	}
	w.done = true
	w.release()
	w.f.Close() // it was synced, so nothing depends on this
	return w.meta, nil
}

func (w *Writer) finish() error {
	if w.rows > 0 {
		if err := w.group(w.rows, true); err != nil {
			return w.classify(err)
		}
	}
	kv, err := w.metadata()
	if err != nil {
		return w.classify(err)
	}
	if err := w.w.Close("cordwood", kv); err != nil {
		return w.classify(err)
	}
	w.meta.Bytes, w.meta.FileCRC = w.out.n, w.out.crc
	if w.meta.FooterCRC, err = footerCRC(w.f, w.meta.Bytes); err != nil {
		return fmt.Errorf("read back the footer: %w", err)
	}
	if err := w.f.Sync(); err != nil {
		return err
	}
	return w.cfg.FS.Rename(w.temp, filepath.Join(w.cfg.Dir, FileName(w.meta.ID)))
}

// Abort removes an unfinished file. After Finish has returned nil it does nothing.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.release()
	if w.err == nil {
		w.err = fmt.Errorf("write segment %s: aborted", FileName(w.meta.ID))
	}
	if err := errors.Join(w.f.Close(), w.cfg.FS.Remove(w.temp)); err != nil {
		return fmt.Errorf("abort segment %s: %w", FileName(w.meta.ID), err)
	}
	return nil
}
