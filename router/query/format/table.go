package format

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

const hexDigits = "0123456789abcdef"

// The widths of a table are determined by its first rows, up to a number of rows and bytes. A wider cell in a later
// row moves the rest of its line to the right.
const (
	tableSampleRows  = 1000
	tableSampleBytes = 1 << 20
)

// writeTable writes aligned text with a frame.
func writeTable(o *output, rows Rows) error {
	t := &table{o: o}
	for _, f := range rows.Schema().Fields() {
		name := string(printable(nil, f.Name))
		t.names = append(t.names, name)
		t.widths = append(t.widths, runewidth.StringWidth(name))
		t.right = append(t.right, rightAligned(f.Type))
	}
	var value []byte
	for rows.Next() {
		rec := rows.RecordBatch()
		columns := make([]cell, len(t.names))
		for i := range columns {
			columns[i] = cellOf(rec.Column(i), style{times: true})
		}
		for row := range int(rec.NumRows()) {
			line := make([]string, len(columns))
			for c, cell := range columns {
				if isNull(rec.Column(c), row) {
					line[c] = "NULL"
					continue
				}
				value = cell(value[:0], row)
				line[c] = string(printable(nil, string(value)))
			}
			if err := t.add(line); err != nil {
				return err
			}
		}
		if t.started {
			if err := o.batchDone(); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := t.start(); err != nil {
		return err
	}
	t.rule()
	return o.write()
}

type table struct {
	o       *output
	names   []string
	widths  []int
	right   []bool
	sample  [][]string
	bytes   int
	started bool
}

// add adds a line, at first to the sample, later directly to the output.
func (t *table) add(line []string) error {
	if t.started {
		t.line(line)
		return t.o.spill()
	}
	for c, s := range line {
		for part := range strings.SplitSeq(s, "\n") {
			t.widths[c] = max(t.widths[c], runewidth.StringWidth(part))
		}
		t.bytes += len(s) + 16
	}
	t.sample = append(t.sample, line)
	if len(t.sample) < tableSampleRows && t.bytes < tableSampleBytes {
		return nil
	}
	return t.start()
}

// start fixes the widths and writes the head and the sample.
func (t *table) start() error {
	if t.started {
		return nil
	}
	t.started = true
	t.rule()
	right := t.right
	t.right = make([]bool, len(right))
	t.line(slices.Clone(t.names))
	t.right = right
	t.rule()
	for _, line := range t.sample {
		t.line(line)
		if err := t.o.spill(); err != nil {
			return err
		}
	}
	t.sample = nil
	return nil
}

func (t *table) rule() {
	for _, w := range t.widths {
		t.o.buf = append(t.o.buf, '+')
		t.pad('-', w+2)
	}
	t.o.buf = append(t.o.buf, "+\n"...)
}

// line writes a row, on as many lines as its highest cell has.
func (t *table) line(cells []string) {
	for more := true; more; {
		more = false
		for c, s := range cells {
			s, rest, cut := strings.Cut(s, "\n")
			cells[c], more = rest, more || cut
			t.o.buf = append(t.o.buf, "| "...)
			space := t.widths[c] - runewidth.StringWidth(s)
			if t.right[c] {
				t.pad(' ', space)
			}
			t.o.buf = append(t.o.buf, s...)
			if !t.right[c] {
				t.pad(' ', space)
			}
			t.o.buf = append(t.o.buf, ' ')
		}
		t.o.buf = append(t.o.buf, "|\n"...)
	}
}

func (t *table) pad(c byte, n int) {
	for ; n > 0; n-- {
		t.o.buf = append(t.o.buf, c)
	}
}

// printable writes control characters except line ends as escapes, so that a stored log line can neither break
// the frame nor control a terminal.
func printable(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '\n':
			dst = append(dst, '\n')
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < 0x20 || r == 0x7f:
			dst = append(dst, `\x`+string(hexDigits[r>>4])+string(hexDigits[r&15])...)
		case unicode.Is(unicode.C, r) && !strings.ContainsRune("\u200d\u00ad", r):
			dst = append(dst, `\u{`...)
			dst = append(appendHex(dst, r), '}')
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

func appendHex(dst []byte, r rune) []byte {
	if r >= 16 {
		dst = appendHex(dst, r>>4)
	}
	return append(dst, hexDigits[r&15])
}
