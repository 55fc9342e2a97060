package tail

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"cordwood/cmd/cordwood/cli"
)

// eachLine calls fn with each line of r without its line end, including empty lines. It calls idle
// whenever all received data has been read.
func eachLine(r io.Reader, fn func(line []byte) error, idle func() error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil // a line without an end is an incomplete row
			}
			return err
		}
		if err := fn(bytes.TrimRight(line, "\r\n")); err != nil {
			return err
		}
		line = line[:0]
		if in.Buffered() == 0 {
			if err := idle(); err != nil {
				return err
			}
		}
	}
}

// printer prints rows as they arrive.
type printer struct {
	w     *bufio.Writer
	table bool

	color bool // colour levels

	columns []string
	widths  []int
}

func newPrinter(w io.Writer, output string, color bool) *printer {
	return &printer{w: bufio.NewWriterSize(w, 64<<10), table: output == "table", color: color}
}

// row prints a row into the buffer, which flush writes out.
func (p *printer) row(line []byte) error {
	if !p.table {
		_, _ = p.w.Write(line)
		return p.w.WriteByte('\n')
	}
	columns, cells, err := cli.RowCells(line, "", cli.Printable) // control characters must not move the cursor
	if err != nil {
		return err
	}
	if !slices.Equal(columns, p.columns) {
		p.columns, p.widths = columns, make([]int, len(columns))
		for i := range columns {
			p.widths[i] = min(max(runewidth.StringWidth(columns[i]), runewidth.StringWidth(cells[i])), maxWidth)
		}
		p.line(columns)
	}
	grown := false
	for i, cell := range cells {
		if width := min(runewidth.StringWidth(cell), maxWidth); width > p.widths[i] {
			grown = grown || i < len(cells)-1          // the last column needs no padding
			p.widths[i] = min((width+7)/8*8, maxWidth) // grow in steps
		}
	}
	if grown {
		p.line(columns)
	}
	p.line(cells)
	return nil
}

// maxWidth is the maximum width that a column gets from its name and its values.
const maxWidth = 40

func (p *printer) line(cells []string) {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		code := ""
		if p.color && cli.LevelColumn[strings.ToLower(p.columns[i])] {
			code = cli.LevelColor(cell)
		}
		b.WriteString(cli.Painted(cell, code))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", max(0, p.widths[i]-runewidth.StringWidth(cell))))
		}
	}
	_, _ = p.w.WriteString(b.String() + "\n")
}

func (p *printer) flush() error { return p.w.Flush() }
