package sql

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/mattn/go-runewidth"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/query/format"
	"cordwood/router/query/statement"
)

// expandedMode is the setting \x: whether a row is printed as a line for each column.
type expandedMode int

const (
	expandedOff expandedMode = iota
	expandedOn
	// expandedAuto expands rows that are wider than the screen.
	expandedAuto
)

// rowsFrom reads the rows of an answer in the format arrow.
func rowsFrom(body io.Reader) (format.Rows, error) {
	noted := &notedReader{r: body}
	r, err := ipc.NewReader(noted)
	if err != nil {
		return nil, errors.Join(noted.err, err)
	}
	return &arrowRows{r, noted}, nil
}

// notedReader records the error of reading, because the reader of the format returns another one.
type notedReader struct {
	r   io.Reader
	err error
}

func (n *notedReader) Read(b []byte) (int, error) {
	c, err := n.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return c, err
}

type arrowRows struct {
	*ipc.Reader
	noted *notedReader
}

func (r *arrowRows) Err() error {
	if r.noted.err != nil {
		return r.noted.err
	}
	return r.Reader.Err()
}

// affected returns the number of rows that a statement changed, if its answer is that number.
func affected(rows format.Rows) (n int64, ok bool) {
	if s := rows.Schema(); s.NumFields() != 1 || s.Field(0).Name != "affectedrows" {
		return 0, false
	}
	for rows.Next() {
		if c, isInt := rows.RecordBatch().Column(0).(*array.Int64); isInt && c.Len() > 0 {
			n += c.Value(0)
		}
	}
	return n, true
}

// printTable prints rows as a table, or expanded, and their number.
func printTable(w io.Writer, rows format.Rows, mode expandedMode, width int) error {
	r := &replayed{Rows: rows}
	if mode == expandedOn {
		return printExpanded(w, r)
	}
	out := w
	if mode == expandedAuto && width > 0 {
		r.keep = true
		out = &firstLine{w: w, width: width, fits: func() { r.keep = false }}
	}
	n, err := format.Write(out, format.Table, r)
	if errors.Is(err, errTooWide) {
		r.again()
		return printExpanded(w, r)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "(%s)\n", cli.Count(int(n), "row"))
	return err
}

// errTooWide means that a table is wider than the screen.
var errTooWide = errors.New("the table is wider than the screen")

// firstLine writes a table unless its first line is too long.
type firstLine struct {
	w     io.Writer
	width int
	fits  func()
	done  bool
}

func (f *firstLine) Write(b []byte) (int, error) {
	if !f.done {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		if len(line) > f.width { // the frame is ASCII
			return 0, errTooWide
		}
		f.done = true
		f.fits()
	}
	return f.w.Write(b)
}

// replayed has rows that can be read again while keep is set. The rows of a table are kept until the widths of its
// columns are known. The format limits the number of these rows.
type replayed struct {
	format.Rows
	keep    bool
	kept    []arrow.RecordBatch
	current arrow.RecordBatch
}

// again starts again at the first row.
func (r *replayed) again() { r.keep = false }

func (r *replayed) Next() bool {
	if !r.keep && len(r.kept) > 0 {
		r.current, r.kept = r.kept[0], r.kept[1:]
		return true
	}
	if !r.Rows.Next() {
		return false
	}
	r.current = r.Rows.RecordBatch()
	if r.keep {
		r.current.Retain()
		r.kept = append(r.kept, r.current)
	}
	return true
}

func (r *replayed) RecordBatch() arrow.RecordBatch { return r.current }

// printExpanded prints a line for each column of each row.
func printExpanded(w io.Writer, rows format.Rows) error {
	names := make([]string, 0, rows.Schema().NumFields())
	width := 0
	for _, f := range rows.Schema().Fields() {
		name := cli.Printable(f.Name)
		names = append(names, name)
		width = max(width, runewidth.StringWidth(name))
	}
	n := 0
	for rows.Next() {
		batch, err := array.NewRecordReader(rows.Schema(), []arrow.RecordBatch{rows.RecordBatch()})
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if _, err := format.Write(&text, format.NDJSON, batch); err != nil {
			return err
		}
		err = cli.EachLine(&text, func(line []byte) error {
			n++
			_, cells, err := cli.RowCells(line, "NULL", strings.NewReplacer("\r", `\r`, "\x1b", `\x1b`).Replace)
			if err != nil {
				return err
			}
			var b strings.Builder
			head := fmt.Sprintf("-[ RECORD %d ]", n)
			b.WriteString(head + strings.Repeat("-", max(0, width+3-len(head))) + "\n")
			for i, cell := range cells {
				name := names[i] + strings.Repeat(" ", width-runewidth.StringWidth(names[i]))
				for part := range strings.SplitSeq(cell, "\n") {
					b.WriteString(name + " | " + cli.Printable(part) + "\n")
					name = strings.Repeat(" ", width)
				}
			}
			_, err = io.WriteString(w, b.String())
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "(%s)\n", cli.Count(n, "row"))
	return err
}

// explains reports whether a text is a single EXPLAIN.
func explains(text string) bool {
	tokens := statement.Tokens(text)
	i := slices.IndexFunc(tokens, func(t statement.Token) bool { return t.Kind != statement.TokenComment })
	return i >= 0 && tokens[i].Kind == statement.TokenWord && strings.EqualFold(tokens[i].Value, "EXPLAIN")
}

// printExplained prints the answer to EXPLAIN, in NDJSON, without a frame: a plan is a drawing of
// many lines.
func printExplained(w io.Writer, rows io.Reader) error {
	return cli.EachLine(rows, func(line []byte) error {
		_, cells, err := cli.RowCells(line, "", nil)
		if err != nil {
			return err
		}
		// The row has a heading and a text.
		if len(cells) > 0 {
			_, err = io.WriteString(w, strings.TrimRight(cells[len(cells)-1], "\n")+"\n")
		}
		return err
	})
}
