package segment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// This file adds columns to objects for engines that do not know a type of ours: times in microseconds, and integers
// without a sign in a wider type. Our own readers ignore them.

// HiddenID is added to the id of a column to get the id and the field id of its hidden form. It is part of the format.
const HiddenID = 1 << 30

// decimalDigits is the number of digits of the largest Uint64.
const decimalDigits = 20

// Hidden reports whether the column is the hidden form of another one, which readers of this project do not read.
func (c *Column) Hidden() bool { return c.ID >= HiddenID && c.ID < TableFieldID }

// HiddenColumn returns the column that has the values of c in another form, without a name that is unique in a file. It
// returns false for types that have no other form. The form of a Uint64 is a decimal, although its Type is Uint64.
func HiddenColumn(c *Column) (h Column, ok bool) {
	h = Column{ID: c.ID + HiddenID, FieldID: c.ID + HiddenID, Semantic: schema.Field}
	suffix := "@us"
	switch c.Type {
	case schema.TimestampSecond, schema.TimestampMillisecond, schema.TimestampNanosecond:
		h.Type = schema.TimestampMicrosecond
	case schema.Uint32:
		h.Type, suffix = schema.Int64, "@long"
	case schema.Uint64:
		h.Type, suffix = schema.Uint64, "@decimal"
	default:
		return Column{}, false
	}
	h.Name = c.TableName() + suffix
	return h, c.ID < HiddenID
}

// hiddenFile is a temporary file with hidden columns, in the row groups of another file.
type hiddenFile struct {
	fs      vfs.FS
	path    string
	f       vfs.File
	size    int64
	columns []Column
}

func (h *hiddenFile) close() error {
	if h == nil {
		return nil
	}
	return errors.Join(h.f.Close(), h.fs.Remove(h.path))
}

// errNoForm means that a value has no hidden form.
var errNoForm = errors.New("a value cannot be converted")

// hide writes the hidden forms of columns of a file that was checked. If there are none, it returns nil.
func hide(fsys vfs.FS, in io.ReaderAt, m *Meta, to string, ids []uint32) (*hiddenFile, error) {
	if len(ids) == 0 || m.Shared() {
		return nil, nil
	}
	md, err := parquet.ReadFooter(in, m.Bytes)
	if err != nil {
		return nil, err
	}
	wanted := make(map[uint32]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	for {
		list := hiddenColumns(m.Columns, wanted)
		if len(list) == 0 {
			return nil, nil
		}
		h, failed, err := writeHidden(fsys, in, md, m, to, list)
		if !errors.Is(err, errNoForm) {
			return h, err
		}
		delete(wanted, failed)
	}
}

// hiddenColumns returns the hidden forms of the wanted columns of a file, with names that are unique in it.
func hiddenColumns(columns []Column, wanted map[uint32]bool) (list []Column) {
	taken := make(map[string]bool, len(columns))
	for i := range columns {
		taken[strings.ToLower(columns[i].Name)] = true
	}
	for i := range columns {
		h, ok := HiddenColumn(&columns[i])
		if !ok || !wanted[columns[i].ID] {
			continue
		}
		for taken[strings.ToLower(h.Name)] {
			h.Name = fmt.Sprintf("%s#%d", h.Name, h.FieldID)
		}
		taken[strings.ToLower(h.Name)] = true
		list = append(list, h)
	}
	return list
}

// writeHidden writes hidden columns. If a value cannot be converted, it returns errNoForm and the id of the column with
// the value.
func writeHidden(fsys vfs.FS, in io.ReaderAt, md *format.FileMetaData, m *Meta, to string, list []Column) (
	h *hiddenFile, failed uint32, err error,
) {
	h = &hiddenFile{fs: fsys, path: TempName(to + ".hidden"), columns: list}
	if h.f, err = fsys.Create(h.path); err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
			h = nil
		}
	}()
	at := make(map[uint32]int, len(m.Columns))
	for i := range m.Columns {
		at[m.Columns[i].ID] = i
	}
	columns := make([]parquet.Column, len(list))
	for i := range list {
		source := at[list[i].ID-HiddenID]
		columns[i] = parquet.Column{
			Element:  element(&list[i], md.Schema[1+source].RepetitionType.V == format.Required),
			Unsigned: list[i].Type == schema.Uint64, Rising: m.Columns[source].Semantic == schema.Timestamp,
		}
	}
	out := &checksummer{f: h.f}
	w := parquet.NewWriter(out, columns, nil, 1)
	defer w.Release()
	var v parquet.Values
	for g := range md.RowGroups {
		group := &md.RowGroups[g]
		w.BeginGroup(int(group.NumRows))
		for i := range list {
			source := at[list[i].ID-HiddenID]
			if err = readNumbers(in, &md.Schema[1+source], &group.Columns[source].MetaData, &v); err != nil {
				return h, 0, err
			}
			if !convertHidden(m.Columns[source].Type, v.Numbers) {
				return h, list[i].ID - HiddenID, errNoForm
			}
			if err = w.WriteColumn(&v); err != nil {
				return h, 0, err
			}
		}
	}
	if err = w.Close("cordwood", nil); err != nil {
		return h, 0, err
	}
	h.size = out.n
	return h, 0, nil
}

// readNumbers reads all values of a column chunk of numbers into v.
func readNumbers(in io.ReaderAt, e *format.SchemaElement, md *format.ColumnMetaData, v *parquet.Values) error {
	v.Reset()
	r, err := parquet.NewChunkReader(in, e, md)
	if err != nil {
		return err
	}
	valid := make([]uint64, (md.NumValues+63)/64)
	nulls := false
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if p.Valid == nil {
			setBits(valid, v.Rows, v.Rows+p.Rows)
		} else {
			nulls = true
			for i := range p.Rows {
				if p.Valid[i>>6]>>(i&63)&1 == 1 {
					valid[(v.Rows+i)>>6] |= 1 << ((v.Rows + i) & 63)
				}
			}
		}
		v.Rows += p.Rows
		v.Numbers = append(v.Numbers, p.Numbers...)
	}
	if v.Valid = nil; nulls {
		v.Valid = valid
	}
	return nil
}

// convertHidden converts values, as they are in a file, to their hidden form. It returns false if one has none.
func convertHidden(t schema.Type, numbers []uint64) bool {
	switch t {
	case schema.TimestampNanosecond:
		for i, n := range numbers {
			us := int64(n) / 1000
			if int64(n)%1000 < 0 {
				us-- // towards the past, as everywhere
			}
			numbers[i] = uint64(us)
		}
	case schema.TimestampSecond, schema.TimestampMillisecond: // both are milliseconds in a file
		for i, n := range numbers {
			if ms := int64(n); ms > math.MaxInt64/1000 || ms < math.MinInt64/1000 {
				return false
			}
			numbers[i] = n * 1000
		}
	case schema.Uint32:
		for i, n := range numbers {
			numbers[i] = uint64(uint32(n))
		}
	}
	return true
}
