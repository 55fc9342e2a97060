// Package format writes the rows of a query in the requested format.
//
// Rows arrive as Arrow record batches. All formats except svcdb_v1 stream: memory does not grow with the result.
// Only parquet keeps the current row group, and table the first rows; both are limited. svcdb_v1 has its header at
// the end and its own form of errors, so it is collected in a Buffer of limited size.
//
// Values are appended to byte slices directly from the column buffers. The package does not know HTTP or the source
// of the rows. Different writers may be used concurrently, but each one belongs to one goroutine.
package format

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/errs"
)

// Format is a format that a client can request.
type Format uint8

// The formats.
const (
	SvcdbV1 Format = iota
	NDJSON
	CSV
	CSVWithNames
	CSVWithNamesAndTypes
	Table
	Arrow
	Parquet
)

var formats = [...]struct{ name, contentType string }{
	SvcdbV1:              {"svcdb_v1", "application/json"},
	NDJSON:               {"ndjson", "application/x-ndjson"},
	CSV:                  {"csv", "text/csv; charset=utf-8"},
	CSVWithNames:         {"csvWithNames", "text/csv; charset=utf-8; header=present"},
	CSVWithNamesAndTypes: {"csvWithNamesAndTypes", "text/csv; charset=utf-8; header=present"},
	Table:                {"table", "text/plain; charset=utf-8"},
	Arrow:                {"arrow", "application/vnd.apache.arrow.stream"},
	Parquet:              {"parquet", "application/vnd.apache.parquet"},
}

// Parse returns the format of that name, in any case; the empty name is svcdb_v1.
func Parse(name string) (Format, error) {
	if name == "" {
		return SvcdbV1, nil
	}
	names := make([]string, len(formats))
	for i, f := range formats {
		if strings.EqualFold(name, f.name) {
			return Format(i), nil
		}
		names[i] = f.name
	}
	advice := ""
	if strings.EqualFold(name, "json") || strings.EqualFold(name, "jsonl") {
		advice = "; svcdb_v1 is one JSON document, ndjson a line of JSON for each row"
	}
	return 0, errs.New(errs.InvalidArguments, "unknown format %q: expected one of %s%s", name, strings.Join(names, ", "),
		advice)
}

// String returns the format's name.
func (f Format) String() string { return formats[f].name }

// ContentType returns the media type of the format.
func (f Format) ContentType() string { return formats[f].contentType }

// Rows is a result: batches with the same schema. array.RecordReader implements it.
type Rows interface {
	Schema() *arrow.Schema
	// Next moves to the next batch; false at the end and after an error.
	Next() bool
	// RecordBatch is the current batch, valid until Next is called again.
	RecordBatch() arrow.RecordBatch
	Err() error
}

// Flusher is implemented by a destination that has to know when a batch is complete, so that it can flush its own
// buffer.
type Flusher interface{ Flush() error }

// Write writes all rows to w in a streaming format, which is any except SvcdbV1, and returns their number. It
// writes nothing before the first batch has arrived, so an earlier error leaves w untouched. It makes few and large
// writes.
func Write(w io.Writer, f Format, rows Rows) (n int64, err error) {
	return WriteWith(w, f, rows, Options{})
}

// WriteSafe writes rows like Write, with the option Safe.
func WriteSafe(w io.Writer, f Format, rows Rows) (n int64, err error) {
	return WriteWith(w, f, rows, Options{Safe: true})
}

// Options change NDJSON and CSV. Other formats ignore them.
type Options struct {
	// Safe is for readers whose numbers are doubles: integers beyond ±(2^53−1), decimals with more than
	// 15 significant digits, NaN and infinities are texts.
	Safe bool
	// OmitNulls leaves out the columns in which a row is null.
	OmitNulls bool
	// NoFormulas puts an apostrophe in front of the texts in CSV that a spreadsheet would run as formulas.
	NoFormulas bool
}

// WriteWith writes rows like Write.
func WriteWith(w io.Writer, f Format, rows Rows, options Options) (n int64, err error) {
	src := &counted{Rows: rows}
	src.start()
	out := newOutput(w)
	defer out.free()
	switch {
	case src.Err() != nil:
		return 0, src.Err()
	case f == NDJSON:
		err = writeNDJSON(out, src, options)
	case f == CSV, f == CSVWithNames, f == CSVWithNamesAndTypes:
		err = writeCSV(out, src, f >= CSVWithNames, f == CSVWithNamesAndTypes, options)
	case f == Table:
		err = writeTable(out, src)
	case f == Arrow:
		err = writeArrow(w, src)
	case f == Parquet:
		err = writeParquet(w, src)
	default:
		return 0, fmt.Errorf("format %s does not stream", f)
	}
	return src.n, err
}

// counted counts rows and has read one batch ahead at the start.
type counted struct {
	Rows
	n       int64
	ahead   bool
	current bool
}

func (c *counted) start() { c.ahead, c.current = true, c.Rows.Next() }

func (c *counted) Next() bool {
	if c.ahead {
		c.ahead = false
	} else {
		c.current = c.Rows.Next()
	}
	if c.current {
		c.n += c.RecordBatch().NumRows()
	}
	return c.current
}

// flushBytes is about how many bytes an output collects before it writes them.
const flushBytes = 64 << 10

// output collects bytes for a writer.
type output struct {
	w   io.Writer
	buf []byte
}

// outputs is a pool of outputs without writers. Most answers are much smaller than a buffer.
var outputs = sync.Pool{New: func() any { return &output{buf: make([]byte, 0, flushBytes+flushBytes/4)} }}

func newOutput(w io.Writer) *output {
	o := outputs.Get().(*output)
	o.w = w
	return o
}

// free returns the output to the pool. Nothing may use it afterwards.
func (o *output) free() {
	if cap(o.buf) > 16*flushBytes {
		return
	}
	o.w, o.buf = nil, o.buf[:0]
	outputs.Put(o)
}

// spill writes the buffer if it is large.
func (o *output) spill() error {
	if len(o.buf) < flushBytes {
		return nil
	}
	return o.write()
}

func (o *output) write() error {
	if len(o.buf) == 0 {
		return nil
	}
	_, err := o.w.Write(o.buf)
	if cap(o.buf) > 16*flushBytes {
		o.buf = make([]byte, 0, flushBytes+flushBytes/4)
	}
	o.buf = o.buf[:0]
	return err
}

// batchDone writes everything and calls w when a batch is complete.
func (o *output) batchDone() error {
	if err := o.write(); err != nil {
		return err
	}
	return flush(o.w)
}

func flush(w io.Writer) error {
	if f, ok := w.(Flusher); ok {
		return f.Flush()
	}
	return nil
}

// uniqueNames returns the column names, with _1, _2 … after repeated names, because a JSON object or a Parquet file
// cannot have the same name twice.
func uniqueNames(s *arrow.Schema) []string {
	names := make([]string, s.NumFields())
	taken := make(map[string]bool, len(names))
	for _, f := range s.Fields() {
		taken[f.Name] = true
	}
	seen := make(map[string]bool, len(names))
	for i, f := range s.Fields() {
		name := f.Name
		for n := 1; seen[name] || name != f.Name && taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", f.Name, n)
		}
		seen[name] = true
		names[i] = name
	}
	return names
}
