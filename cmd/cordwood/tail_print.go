package main

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

// eachTailLine calls fn with each line of r, without its end; also with empty ones, as
// they come; and idle when no more is there for now.
func eachTailLine(r io.Reader, fn func(line []byte) error, idle func() error) error {
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
				return nil // what has no end of line is half a row
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

// tailPrinter prints rows as they come.
type tailPrinter struct {
	w     *bufio.Writer
	table bool

	color bool // of levels

	columns []string
	widths  []int
}

func newTailPrinter(w io.Writer, output string, color bool) *tailPrinter {
	return &tailPrinter{w: bufio.NewWriterSize(w, 64<<10), table: output == "table", color: color}
}

// row prints a row; flush lets it be seen.
func (p *tailPrinter) row(line []byte) error {
	if !p.table {
		_, _ = p.w.Write(line)
		return p.w.WriteByte('\n')
	}
	columns, cells, err := tailCells(line)
	if err != nil {
		return err
	}
	if !slices.Equal(columns, p.columns) {
		p.columns, p.widths = columns, make([]int, len(columns))
		for i := range columns {
			p.widths[i] = min(max(runewidth.StringWidth(columns[i]), runewidth.StringWidth(cells[i])), maxTailWidth)
		}
		p.line(columns)
	}
	grown := false
	for i, cell := range cells {
		if width := min(runewidth.StringWidth(cell), maxTailWidth); width > p.widths[i] {
			grown = grown || i < len(cells)-1              // nothing stands behind the last column
			p.widths[i] = min((width+7)/8*8, maxTailWidth) // not for each character anew
		}
	}
	if grown {
		p.line(columns)
	}
	p.line(cells)
	return nil
}

// maxTailWidth bounds how far a column is widened for what comes after it.
const maxTailWidth = 40

func (p *tailPrinter) line(cells []string) {
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

func (p *tailPrinter) flush() error { return p.w.Flush() }

// tailCells returns the names and values of a row, in the order of the server.
func tailCells(line []byte) (columns, cells []string, err error) {
	return cli.RowCells(line, "", cli.Printable) // a row is one line, and no text moves the cursor
}
