package segment

import (
	"encoding/binary"
	"fmt"
	"io"

	"cordwood/proto/column"
)

// Count is a value of a column, and the number of rows with this value.
type Count struct {
	// Value is the bytes of a text, or the eight little-endian bytes of a number, sign-extended if
	// its type is signed. It is nil for null rows.
	Value []byte
	Rows  int64
}

// Counts counts the values of a column of a row group without decoding them. It fails unless all
// values are codes of a dictionary with at most most entries. r is the file. A result that was
// requested twice recently is cached with the pages, so the caller must not change it.
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

// Entries returns the number of entries in the dictionary of a column of a row group, which is
// about the number of different values. It fails with parquet.ErrNoDictionary if there is none. r
// is the file.
func (f *Filters) Entries(r io.ReaderAt, group int, c Column) (int, error) {
	p := &pageCursor{cursor: cursor{Column: &c}}
	if err := p.find(f, r, group); err != nil || p.absent {
		return 0, err
	}
	return p.chunk.Entries()
}

// CountsOf counts the values of a column in some rows of a row group. The runs must ascend and not overlap. It
// returns the errors of Rows, and an error if there are more than most different values.
func (f *Filters) CountsOf(r io.ReaderAt, group int, c Column, runs []Run, most int) ([]Count, error) {
	t := &tally{numbers: map[int64]int64{}, texts: map[string]int64{}, most: most}
	for _, run := range runs {
		for run.Rows > 0 {
			piece := Run{run.First, min(run.Rows, maxBatchRows)}
			run.First, run.Rows = run.First+piece.Rows, run.Rows-piece.Rows
			b, err := f.Rows(r, group, []Column{c}, []Run{piece})
			if err != nil {
				return nil, err
			}
			if err := t.add(b.Column(c.ID), piece.Rows); err != nil {
				return nil, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
			}
		}
	}
	return t.counts(), nil
}

// tally counts values.
type tally struct {
	nulls   int64
	numbers map[int64]int64
	texts   map[string]int64
	most    int
}

// add counts the values of a column. A nil v means that all of the rows are null.
func (t *tally) add(v *column.View, rows int) error {
	switch {
	case v == nil:
		t.nulls += int64(rows)
	case v.Encoding == column.Dict:
		t.addCodes(v)
	case v.Encoding == column.Fixed && v.Width <= 2:
		t.addNarrow(v)
	default:
		for i := range v.Rows {
			switch {
			case v.IsNull(i):
				t.nulls++
			case v.Encoding == column.Fixed:
				t.numbers[v.Int(i)]++
			default:
				t.texts[string(v.Bytes(i))]++
			}
			if len(t.numbers) > t.most || len(t.texts) > t.most {
				break
			}
		}
	}
	if len(t.numbers) > t.most || len(t.texts) > t.most {
		return fmt.Errorf("it has more than %d values", t.most)
	}
	return nil
}

// addCodes counts the values of a column with a dictionary.
func (t *tally) addCodes(v *column.View) {
	counts := make([]int64, max(v.DictLen, 1))
	for i := range v.Rows {
		if v.IsNull(i) {
			t.nulls++
		} else {
			counts[v.Code(i)]++
		}
	}
	for code, n := range counts {
		if n > 0 {
			t.texts[string(v.Entry(code))] += n
		}
	}
}

// addNarrow counts numbers that differ by less than 65,536.
func (t *tally) addNarrow(v *column.View) {
	counts := make([]int64, 1<<(8*v.Width))
	for i := range v.Rows {
		if v.IsNull(i) {
			t.nulls++
		} else {
			counts[v.Int(i)-v.Base]++
		}
	}
	for above, n := range counts {
		if n > 0 {
			t.numbers[v.Base+int64(above)] += n
		}
	}
}

func (t *tally) counts() (out []Count) {
	if t.nulls > 0 {
		out = append(out, Count{Rows: t.nulls})
	}
	for n, rows := range t.numbers {
		out = append(out, Count{binary.LittleEndian.AppendUint64([]byte{}, uint64(n)), rows})
	}
	for s, rows := range t.texts {
		out = append(out, Count{append([]byte{}, s...), rows})
	}
	return out
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
