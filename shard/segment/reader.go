package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/column"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// Reader reads the rows of a segment file, in the order of the file. It holds about one page of
// each column in memory. It is not safe for concurrent use.
type Reader struct {
	path string
	m    *Meta
	f    vfs.File
	md   *format.FileMetaData
	err  error // error of the first failed Next

	table int   // the table of the next rows, in a shared file
	left  int64 // rows left of that table, or of all
	group int   // row group of the next rows
	rows  int64 // remaining rows of the row group
	cols  []*cursor
	build builder

	fulltext *Fulltext // set on the first call of filterOf
}

// Open opens a segment's file. m describes the segment as in the manifest. It fails with an
// *ErrCorrupt if the size or the footer differ from m. For a missing file the error matches
// fs.ErrNotExist. m must not be changed while the Reader is in use.
func Open(fsys vfs.FS, path string, m *Meta) (*Reader, error) {
	if err := check(fsys, path, m, false); err != nil {
		return nil, err
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read segment %s: %w", path, err)
	}
	r := &Reader{path: path, m: m, f: f, left: m.Rows, group: -1}
	if m.Shared() {
		r.left = m.Tables[0].Rows
	}
	if r.md, err = parquet.ReadFooter(f, m.Bytes); err == nil {
		err = r.match()
	}
	if err != nil {
		return nil, errors.Join(r.wrap(err), f.Close())
	}
	return r, nil
}

// wrap adds the file's name to an error.
func (r *Reader) wrap(err error) error {
	var damage *parquet.ErrCorrupt
	if errors.As(err, &damage) {
		return corruptFile(r.path, damage)
	}
	return fmt.Errorf("read segment %s: %w", r.path, err)
}

// match compares the footer with the manifest.
func (r *Reader) match() error {
	differs := func(part string, want, got any) error {
		return &parquet.ErrCorrupt{Part: part, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
	}
	if r.md.NumRows != r.m.Rows {
		return differs("number of rows", r.m.Rows, r.md.NumRows)
	}
	first := 1 // after the root
	if r.m.Shared() {
		first = 2
	}
	if n := len(r.md.Schema) - first; n != len(r.m.Columns) {
		return differs("number of columns", len(r.m.Columns), n)
	}
	for i := range r.m.Columns {
		c := &r.m.Columns[i]
		e := &r.md.Schema[first+i]
		if e.Name != c.Name {
			return differs(fmt.Sprintf("name of column %d", i), c.Name, e.Name)
		}
		if want := element(c, false); e.Type.V != want.Type.V || e.RepetitionType.V == format.Repeated {
			return differs(fmt.Sprintf("type of column %q", c.Name), want.Type.V, e.Type.V)
		}
	}
	for i := range r.md.RowGroups {
		if n := len(r.md.RowGroups[i].Columns); n != len(r.md.Schema)-1 {
			return differs(fmt.Sprintf("number of columns in row group %d", i), len(r.md.Schema)-1, n)
		}
	}
	return nil
}

// Next returns the next rows, at least one and at most maxRows, in the order of the file; fewer if
// they are large. All of them belong to one table, Header.TableID. The header contains only the
// table, the times of the rows and the schema version of m. A column that is null in all rows is
// absent. The batch belongs to the caller, and stays valid after further calls and Close.
//
// After the last row it returns io.EOF. If the file is damaged, it returns an *ErrCorrupt. After an
// error, further calls return the same error.
func (r *Reader) Next(maxRows int) (*column.Batch, error) {
	if r.err != nil {
		return nil, r.err
	}
	b, err := r.next(maxRows)
	if err != nil {
		if r.err = err; !errors.Is(err, io.EOF) {
			r.err = r.wrap(err)
		}
		return nil, r.err
	}
	return b, nil
}

func (r *Reader) next(maxRows int) (*column.Batch, error) {
	for r.m.Shared() && r.left == 0 && r.table+1 < len(r.m.Tables) {
		r.table++
		r.left = r.m.Tables[r.table].Rows
	}
	if r.left == 0 {
		return nil, io.EOF
	}
	for r.rows == 0 {
		r.group++
		if r.group == len(r.md.RowGroups) {
			return nil, &parquet.ErrCorrupt{Part: "row groups", Want: fmt.Sprintf("%d more rows", r.left), Got: "the end"}
		}
		if err := r.openGroup(); err != nil {
			return nil, err
		}
	}
	n, err := r.bound(int(min(int64(max(maxRows, 1)), r.left, r.rows, maxBatchRows)))
	if err != nil {
		return nil, err
	}
	h := column.Header{TableID: r.m.TableID, SchemaVersion: r.m.SchemaVersion, Rows: n}
	if r.m.Shared() {
		h.TableID = r.m.Tables[r.table].TableID
	}
	b, err := r.build.batch(h, r.cols)
	if err != nil {
		return nil, err
	}
	r.left -= int64(n)
	r.rows -= int64(n)
	return b, nil
}

const (
	// heavyGroupBytes is the size of the texts of a row group above which batches end at the page
	// ends of columns with more than heavyChunkBytes.
	heavyGroupBytes = 16 << 20
	heavyChunkBytes = 1 << 20
)

// bound returns how many of the next n rows go into one batch. A row group may be large, but the size of a page is
// limited, so it looks at the pages to learn how large the next rows are.
func (r *Reader) bound(n int) (int, error) {
	for _, c := range r.cols {
		if !c.heavy {
			continue
		}
		if c.page == nil || c.row == c.page.Rows {
			if err := r.build.nextPage(c, n); err != nil {
				return 0, fmt.Errorf("column %q: %w", c.Name, err)
			}
		}
		n = min(n, c.page.Rows-c.row)
	}
	return n, nil
}

// weigh marks the columns of a row group at whose page ends batches have to end.
func (r *Reader) weigh(g *format.RowGroup, first int) {
	total := int64(0)
	heavy := func(i int) int64 {
		md := &g.Columns[first+i].MetaData
		if !r.cols[i].Type.IsBytes() || r.cols[i].absent || md.DictionaryPageOffset > 0 {
			return 0
		}
		return md.TotalUncompressedSize
	}
	for i := range r.cols {
		total += heavy(i)
	}
	for i, c := range r.cols {
		c.heavy = total > heavyGroupBytes && heavy(i) > heavyChunkBytes
	}
}

// maxBatchRows is the maximum number of rows of a batch.
const maxBatchRows = 1 << 16

// openGroup starts the row group with the number r.group.
func (r *Reader) openGroup() error {
	g := &r.md.RowGroups[r.group]
	r.rows = g.NumRows
	if r.rows < 0 {
		return &parquet.ErrCorrupt{
			Part: fmt.Sprintf("rows of row group %d", r.group),
			Want: "a number",
			Got:  fmt.Sprint(r.rows),
		}
	}
	first := len(r.md.Schema) - 1 - len(r.m.Columns)
	r.cols = r.cols[:0]
	for i := range r.m.Columns {
		md := &g.Columns[first+i].MetaData
		if md.NumValues != g.NumRows {
			return &parquet.ErrCorrupt{
				Part: fmt.Sprintf("column %q in row group %d", r.m.Columns[i].Name, r.group),
				Want: fmt.Sprintf("%d rows", g.NumRows),
				Got:  fmt.Sprint(md.NumValues),
			}
		}
		c := &cursor{Column: &r.m.Columns[i]}
		if c.Hidden() || md.Statistics.NullCount == g.NumRows && g.NumRows > 0 {
			c.absent = true
		} else {
			chunk, err := parquet.NewChunkReader(r.f, &r.md.Schema[1+first+i], md)
			if err != nil {
				return err
			}
			c.chunk = chunk
		}
		r.cols = append(r.cols, c)
	}
	r.weigh(g, first)
	return nil
}

// Close releases the file. It may be called twice.
func (r *Reader) Close() error {
	if r.f == nil {
		return nil
	}
	f := r.f
	r.f = nil
	if r.err == nil {
		r.err = fmt.Errorf("read segment %s: closed", r.path)
	}
	return f.Close()
}
