package rows

import (
	"encoding/json"
	"io"

	"cordwood/proto/schema"
	"cordwood/router/explore/scope"
	"cordwood/router/query/format"
)

const (
	// lineBytes is the approximate number of bytes in each write.
	lineBytes = 64 << 10
	// maxNumbered limits the number of rows that are remembered to number identical rows.
	maxNumbered = 10_000
)

// WriteLines writes rows of SELECT * of a table as lines of JSON, in the same form as the rows of a page, with
// texts cut to most bytes. Identical rows have numbers in their ids. It returns the number of rows.
func WriteLines(w io.Writer, all format.Rows, t *schema.Table, most int) (n int64, err error) {
	table, sh := &scope.Table{Def: t}, &shape{most: most}
	numbers := map[place]int{}
	var out []byte
	for all.Next() {
		rec := all.RecordBatch()
		b, err := newBatch(rec, table, sh)
		if err != nil {
			return n, err
		}
		for i := range int(rec.NumRows()) {
			p := b.place(i)
			if len(numbers) >= maxNumbered {
				clear(numbers)
			}
			numbers[p]++
			number := numbers[p]
			p.number = number
			r := b.row(p, i)
			r.ID = r.id()
			line, err := json.Marshal(r)
			if err != nil {
				return n, err
			}
			out = append(append(out, line...), '\n')
			n++
			if len(out) >= lineBytes {
				if _, err := w.Write(out); err != nil {
					return n, err
				}
				out = out[:0]
			}
		}
		if len(out) > 0 {
			if _, err := w.Write(out); err != nil {
				return n, err
			}
			out = out[:0]
		}
	}
	return n, all.Err()
}
