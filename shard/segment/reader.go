package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

// Reader reads the rows of one segment file back, in the order of the file. It holds a
// few pages of each column in memory. It is not safe for concurrent use.
type Reader struct {
	path string
	m    *Meta
	f    vfs.File
	pf   *parquet.File

	table int // of the shared file, whose rows come next
	left  int64
	group int
	rows  parquet.Rows
	buf   []parquet.Row
}

// Open opens a segment's file, of which the manifest says m. It fails with an
// *ErrCorrupt if size or footer are not what m says; a missing file satisfies
// errors.Is with fs.ErrNotExist. m must not be changed while the Reader is used.
func Open(fsys vfs.FS, path string, m *Meta) (*Reader, error) {
	if err := check(fsys, path, m, false); err != nil {
		return nil, err
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read segment %s: %w", path, err)
	}
	pf, err := parquet.OpenFile(f, m.Bytes, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read segment %s: %w", path, err), f.Close())
	}
	r := &Reader{path: path, m: m, f: f, pf: pf, left: m.Rows}
	if m.Shared() {
		r.left = m.Tables[0].Rows
	}
	return r, nil
}

// Next returns the next rows, at least one and at most maxRows, in the order of the
// file. All are of one table, which is Header.TableID; the header has also the rows'
// times and the schema version of m, and nothing else. A column that is null in all
// of them may be absent. The batch is the caller's, and stays valid after further
// calls and Close.
//
// After the last row it returns io.EOF. Damage is an *ErrCorrupt; after an error other
// calls return it again.
func (r *Reader) Next(maxRows int) (*column.Batch, error) {
	for {
		if r.m.Shared() && r.left == 0 && r.table+1 < len(r.m.Tables) {
			r.table++
			r.left = r.m.Tables[r.table].Rows
		}
		if r.left == 0 {
			return nil, io.EOF
		}
		if r.rows == nil {
			groups := r.pf.RowGroups()
			if r.group == len(groups) {
				return nil, io.EOF
			}
			r.rows = groups[r.group].Rows()
			r.group++
		}
		r.buf = make([]parquet.Row, min(int64(maxRows), r.left, 8192))
		n, err := r.rows.ReadRows(r.buf)
		if n > 0 {
			r.left -= int64(n)
			return r.batch(r.buf[:n])
		}
		if !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read segment %s: %w", r.path, err)
		}
		if err := r.rows.Close(); err != nil {
			return nil, fmt.Errorf("read segment %s: %w", r.path, err)
		}
		r.rows = nil
	}
}

func (r *Reader) batch(rows []parquet.Row) (*column.Batch, error) {
	h := column.Header{TableID: r.m.TableID, SchemaVersion: r.m.SchemaVersion}
	first := 0
	if r.m.Shared() {
		h.TableID = r.m.Tables[r.table].TableID
		first = 1
	}
	var b column.Builder
	cols := make([]*column.Col, len(r.m.Columns))
	for at, values := range rows {
		for i := range r.m.Columns {
			v := values[first+i]
			if v.IsNull() {
				continue
			}
			c := &r.m.Columns[i]
			if cols[i] == nil {
				cols[i] = b.Add(schema.Column{ID: c.ID, Name: c.TableName(), Type: c.Type, Semantic: c.Semantic})
			}
			switch {
			case c.Type.IsBytes():
				cols[i].SetBytes(at, v.ByteArray())
			case c.Type == schema.Boolean:
				n := int64(0)
				if v.Boolean() {
					n = 1
				}
				cols[i].SetInt(at, n)
			case c.Type == schema.Float32:
				cols[i].SetFloat(at, float64(v.Float()))
			case c.Type == schema.Float64:
				cols[i].SetFloat(at, v.Double())
			case c.Type == schema.TimestampSecond:
				cols[i].SetInt(at, v.Int64()/1000)
			case c.Type == schema.Uint64 || v.Kind() == parquet.Int64:
				cols[i].SetInt(at, v.Int64())
			case c.Type == schema.Uint8 || c.Type == schema.Uint16 || c.Type == schema.Uint32:
				cols[i].SetInt(at, int64(uint32(v.Int32())))
			default:
				cols[i].SetInt(at, int64(v.Int32()))
			}
			if c.Semantic == schema.Timestamp {
				t := cols[i].Int(at)
				if at == 0 {
					h.MinTime, h.MaxTime = t, t
				}
				h.MinTime, h.MaxTime = min(h.MinTime, t), max(h.MaxTime, t)
			}
		}
		b.EndRow()
	}
	b.Finish()
	return column.Decode(b.Encode(nil, h), nil)
}

// Close releases the file.
func (r *Reader) Close() error {
	var err error
	if r.rows != nil {
		err = r.rows.Close()
		r.rows = nil
	}
	return errors.Join(err, r.f.Close())
}
