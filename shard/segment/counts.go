package segment

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Count is a value of a column, and the number of rows with this value.
type Count struct {
	// Value is the bytes of a text, or the eight little-endian bytes of a number, sign-extended if
	// its type is signed. It is nil for null rows.
	Value []byte
	Rows  int64
}

// Counts counts the values of a column of a row group without decoding them. It fails unless all
// values are codes of a dictionary with at most most entries. r is the file. An answer that was
// requested twice recently is cached with the pages, so it must not be changed.
func (f *Filters) Counts(r io.ReaderAt, group int, c Column, most int) ([]Count, error) {
	place, ok := f.Groups[group].columns[c.FieldID]
	if !ok {
		return f.count(r, group, c, most)
	}
	note, keep := f.cache.Note(f.file, place.chunk.data)
	if list, ok := note.([]Count); ok && len(list) <= most+1 { // plus one for the nulls
		return list, nil
	}
	list, err := f.count(r, group, c, most)
	if err == nil && keep {
		size := 0
		for _, n := range list {
			size += 40 + len(n.Value)
		}
		f.cache.KeepNote(f.file, place.chunk.data, list, size)
	}
	return list, err
}

func (f *Filters) count(r io.ReaderAt, group int, c Column, most int) ([]Count, error) {
	p := &pageCursor{cursor: cursor{Column: &c}}
	if err := p.find(f, r, group); err != nil {
		return nil, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
	}
	rows := f.Groups[group].Rows
	if p.absent {
		return []Count{{Rows: rows}}, nil
	}
	b := readers.Get().(*builder)
	defer b.release()
	if b.chunk != nil {
		p.chunk.Reuse(b.chunk)
	}
	defer func() { b.keep(p.chunk) }()
	dict, counts, nulls, err := p.chunk.Counts(most)
	if err != nil {
		return nil, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
	}
	var out []Count
	if nulls > 0 {
		out = append(out, Count{Rows: nulls})
	}
	for i, n := range counts {
		if rows -= n; n == 0 {
			continue
		}
		value := []byte{}
		if c.Type.IsBytes() {
			value = append(value, dict.Entry(i)...)
		} else {
			value = binary.LittleEndian.AppendUint64(value, dict.Numbers[i])
		}
		out = append(out, Count{value, n})
	}
	if rows != nulls {
		return nil, fmt.Errorf("row group %d, column %q: %d rows are missing", group, c.Name, rows-nulls)
	}
	return out, nil
}
