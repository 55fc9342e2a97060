package firehose

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"cordwood/proto/errs"
	"cordwood/router/body"
	"cordwood/router/ingest"
	"cordwood/router/ingest/jsonwalk"
)

// input has the records of a request. It may be read more than once.
type input struct {
	common    []member
	eventTime bool
	arrival   int64 // nanoseconds since 1970

	// reserve reserves memory for decoded data, given its total size. check returns an error if the size is too
	// large.
	reserve func(bytes int64) error
	check   func(bytes int64) error

	id      string
	data    []byte // the decoded records, with a newline after each and zeros at the end
	records []record
	packed  []byte // the current record, decoded from base64

	sink *ingest.Sink
	n    int64 // number of rows so far
	row  []byte
}

// record is a record of Firehose: data[from:to].
type record struct {
	from, to int
	wrong    string // the reason why it cannot be decoded; then data has the original text
}

// recordBytes is the approximate memory of a record without its data.
const recordBytes = 48

// readBody reads {"requestId":…,"records":[{"data":…}]} and decodes the records.
func (in *input) readBody(text []byte) error {
	w := jsonwalk.New(text)
	found := false
	err := w.Object(func(key []byte) error {
		switch string(key) {
		case "requestId":
			if w.Kind() != '"' {
				return w.Skip()
			}
			id, _, err := w.String()
			in.id = string(id)
			return err
		case "records":
			found = true
			return w.Array(func(int) error { return in.readRecord(w) })
		}
		return w.Skip()
	})
	switch e := (*errs.Error)(nil); {
	case errors.As(err, &e):
		return err
	case err != nil:
		return errs.New(errs.InvalidArguments, "the body is not a Firehose delivery: %v", err)
	case !found:
		return errs.New(errs.InvalidArguments, `the body is not a Firehose delivery: it has no "records"`)
	}
	if err := in.grow(body.Pad); err != nil {
		return err
	}
	clear(in.data[len(in.data) : len(in.data)+body.Pad])
	return nil
}

// readRecord reads a record and decodes it.
func (in *input) readRecord(w *jsonwalk.Walker) error {
	start := w.Pos()
	if w.Kind() != '{' {
		if err := w.Skip(); err != nil {
			return err
		}
		return in.add(w.Since(start), "a record must be an object with data")
	}
	found := false
	err := w.Object(func(key []byte) error {
		if string(key) != "data" || w.Kind() != '"' || found {
			return w.Skip()
		}
		text, _, err := w.String()
		if err != nil {
			return err
		}
		found = true
		return in.decode(text)
	})
	if err == nil && !found {
		err = in.add(w.Since(start), "it has no data, which is a text in base64")
	}
	return err
}

// add adds a record that cannot be decoded, in its original form.
func (in *input) add(data []byte, wrong string) error {
	from := len(in.data)
	if err := in.grow(len(data) + 1); err != nil {
		return err
	}
	in.data = append(in.data, data...)
	return in.end(from, wrong)
}

// end ends the record that began at from.
func (in *input) end(from int, wrong string) error {
	if n := cap(in.records); len(in.records) == n {
		n = max(64, 2*n)
		if err := in.hold(cap(in.data), n+cap(in.records)); err != nil {
			return err
		}
		in.records = append(make([]record, 0, n), in.records...)
	}
	if err := in.grow(1); err != nil {
		return err
	}
	in.records = append(in.records, record{from, len(in.data), wrong})
	in.data = append(in.data, '\n')
	return nil
}

// grow makes room for n more bytes of data.
func (in *input) grow(n int) error {
	if cap(in.data)-len(in.data) >= n {
		return nil
	}
	size := max(2*cap(in.data), len(in.data)+n, 4<<10)
	if err := in.check(int64(len(in.data) + n)); err != nil {
		return err
	}
	if err := in.hold(size+cap(in.data), cap(in.records)); err != nil {
		return err
	}
	in.data = append(make([]byte, 0, size), in.data...)
	return nil
}

// hold reserves the memory for data and records.
func (in *input) hold(data, records int) error {
	return in.reserve(int64(data+cap(in.packed)) + int64(records)*recordBytes)
}

// decode decodes the data of a record.
func (in *input) decode(text []byte) error {
	size := base64.StdEncoding.DecodedLen(len(text))
	if cap(in.packed) < size {
		in.packed = nil
		if err := in.hold(cap(in.data)+size, cap(in.records)); err != nil {
			return err
		}
		in.packed = make([]byte, size)
	}
	n, err := base64.StdEncoding.Decode(in.packed[:size], text)
	if err != nil {
		return in.add(text, "its data is not base64: "+err.Error())
	}
	raw := in.packed[:n]
	if len(raw) > 2 && raw[0] == 0x1f && raw[1] == 0x8b {
		return in.inflate(raw, text)
	}
	if err := in.grow(n + 1); err != nil {
		return err
	}
	from := len(in.data)
	in.data = append(in.data, raw...)
	return in.valid(from)
}

// valid ends the record that began at from, and replaces its bytes that are not valid UTF-8.
func (in *input) valid(from int) error {
	if data := in.data[from:]; !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
		in.data = in.data[:from]
		if err := in.grow(len(data) + 1); err != nil {
			return err
		}
		in.data = append(in.data, data...)
	}
	return in.end(from, "")
}

var gzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

// step is the minimum number of bytes that are decompressed at a time.
const step = 16 << 10

// inflate decompresses the data of a record. text is the original text.
func (in *input) inflate(packed, text []byte) error {
	from := len(in.data)
	r := gzips.Get().(*gzip.Reader)
	defer gzips.Put(r)
	err := r.Reset(bytes.NewReader(packed))
	for err == nil {
		if err := in.grow(step); err != nil {
			return err
		}
		var n int
		n, err = r.Read(in.data[len(in.data):cap(in.data)])
		in.data = in.data[:len(in.data)+n]
	}
	if !errors.Is(err, io.EOF) {
		in.data = in.data[:from]
		return in.add(text, fmt.Sprintf("its data begins like gzip, but cannot be decompressed: %v", err))
	}
	return in.valid(from)
}
