package compaction

import (
	"cmp"
	"encoding/binary"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment"
)

// FillsOf returns the fills of columns that one of the inputs has. A column that no input has stays out of the output.
func FillsOf(fills []segment.Fill, inputs []Input) (out []segment.Fill) {
	for i := range fills {
		if slices.ContainsFunc(inputs, func(in Input) bool {
			return slices.ContainsFunc(in.Meta.Columns, func(c segment.Column) bool { return c.ID == fills[i].Column.ID })
		}) {
			out = append(out, fills[i])
		}
	}
	return out
}

// filled returns a batch with values in the place of nulls. It does not change b.
func filled(b *column.Batch, fills []segment.Fill) (*column.Batch, error) {
	out := b
	for i := range fills {
		f := &fills[i]
		had := b.Column(f.Column.ID)
		if had != nil && had.Nulls == 0 {
			continue
		}
		typ := f.Column.Type
		if had != nil {
			typ = had.Type
		}
		var v column.View
		if typ.IsBytes() {
			v = texts(f, typ, b.Rows, had)
		} else {
			var err error
			if v, err = numbers(f, typ, b, had); err != nil {
				return nil, err
			}
		}
		if out == b {
			c := *b
			c.Cols = slices.Clone(b.Cols)
			out = &c
		}
		at, found := slices.BinarySearchFunc(out.Cols, v.ID, func(v column.View, id uint32) int {
			return cmp.Compare(v.ID, id)
		})
		if found {
			out.Cols[at] = v
		} else {
			out.Cols = slices.Insert(out.Cols, at, v)
		}
	}
	return out, nil
}

// numbers returns a column of numbers without nulls. had may be nil.
func numbers(f *segment.Fill, typ schema.Type, b *column.Batch, had *column.View) (column.View, error) {
	var made column.Builder
	c := made.Add(schema.Column{ID: f.Column.ID, Type: typ, Semantic: schema.Field})
	for row := range b.Rows {
		switch {
		case had != nil && !had.IsNull(row):
			c.SetFrom(row, had, row)
		case typ.IsFloat():
			c.SetFloat(row, f.Float)
		default:
			c.SetInt(row, f.Int)
		}
		made.EndRow()
	}
	full, err := column.Decode(made.Encode(nil, column.Header{TableID: b.TableID}), nil)
	if err != nil {
		return column.View{}, err
	}
	return full.Cols[0], nil
}

// texts returns a column of texts without nulls. had may be nil.
func texts(f *segment.Fill, typ schema.Type, rows int, had *column.View) column.View {
	size := 0
	value := func(row int) []byte {
		if had != nil && !had.IsNull(row) {
			return had.Bytes(row)
		}
		return f.Bytes
	}
	for row := range rows {
		size += len(value(row))
	}
	const slack = 16 // readers may read so many bytes at the start of any value
	offsets := make([]byte, 0, 4*(rows+1)+slack)
	data := make([]byte, 0, size+slack)
	offsets = binary.LittleEndian.AppendUint32(offsets, 0)
	for row := range rows {
		data = append(data, value(row)...)
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(data)))
	}
	return column.View{
		ID: f.Column.ID, Type: typ, Rows: rows, Encoding: column.Plain, Data: data, Offsets: offsets,
	}
}
