// Package loki receives logs with Loki's push API: POST /loki/api/v1/push, with JSON, or with protobuf in a snappy
// block. Promtail, Alloy, Fluent Bit, Vector and Docker's log drivers use it. The format is described at
// https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs.
//
// Without a pipeline, an entry becomes a row with the columns svc_timestamp, line, structured_metadata and a column
// for each label. With a pipeline, it becomes the record {"svc_timestamp": …, "loki_line": …, "loki_label_NAME": …,
// "loki_metadata_NAME": …}.
//
// The package decodes, calls router/ingest, and answers. Package router/loki reads entries.
package loki

import (
	"bytes"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/jsonwalk"
)

// DefaultTable is the table for requests that do not give one.
const DefaultTable = "loki_logs"

// Receiver answers push requests. Its embedded Receiver must be set.
type Receiver struct {
	httpreceiver.Receiver
}

// New returns a Receiver. The defaults of d are the destination for requests that do not give one.
func New(d httpreceiver.Receiver) *Receiver {
	d.Protocol = ingest.Loki
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Table: DefaultTable})
	return &Receiver{d}
}

// Refuse answers an error as Loki does, with its plain text.
func Refuse(w http.ResponseWriter, _ *http.Request, why *exchange.Refusal) {
	httpreceiver.WriteText(w, why.Status, why.Text)
}

// Push stores the entries in the body of a request.
func (d *Receiver) Push(w http.ResponseWriter, r *http.Request) {
	out, err := d.push(r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	h := w.Header()
	if out.Skipped > 0 {
		h.Set(exchange.HeaderSkipped, strconv.Itoa(out.Skipped))
	}
	if !strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	exchange.WriteJSON(w, http.StatusOK, appendAnswer(nil, out, exchange.Of(r).Millis()))
}

// appendAnswer appends the answer in the format of /v1/ingest.
func appendAnswer(to []byte, out *ingest.Outcome, millis int64) []byte {
	to = append(to, `{"output":[`...)
	for i, g := range out.Written.Groups {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, `{"affectedrows":`...)
		to = append(strconv.AppendInt(to, int64(g.AffectedRows), 10), '}')
	}
	to = append(to, `],"execution_time_ms":`...)
	return append(strconv.AppendInt(to, millis, 10), '}')
}

// push stores the entries of a request.
func (d *Receiver) push(r *http.Request) (*ingest.Outcome, error) {
	isJSON, err := isJSON(r.Header)
	if err != nil {
		return nil, err
	}
	if !isJSON {
		r.Header.Del("Content-Encoding") // the body is a snappy block, independent of the header
	}
	call, target, err := d.Open(r)
	if err != nil {
		return nil, err
	}
	defer call.Release()
	block := blocks.Get().(*[]byte)
	defer keep(block)
	body, err := d.decode(call, isJSON, block)
	if err != nil {
		return nil, call.Refuse(err)
	}
	b := call.Batch(target)
	if b.OnReject == "" {
		b.OnReject = ingest.StoreRejects // the answer cannot say which entries were refused
	}
	in := &push{
		body:         body,
		block:        call.Body,
		json:         isJSON,
		labelsInJSON: strings.EqualFold(params.Header(r.Header, "X-Svc-Loki-Labels"), "json"),
	}
	if b.Pipeline == "" {
		b.Input = ingest.Columns{Layout: layout, Fill: in.fill, Text: in.text, Format: ingest.FormatLoki}
	} else {
		b.Input = ingest.Records(in.records)
	}
	out := &call.Store(b)[0]
	if out.Err != nil {
		return nil, out.Err
	}
	if in.unreadable > 0 {
		call.X.Header().Add(exchange.HeaderWarnings, words.Say(in.unreadable,
			"stream has labels that could not be read: its entries are stored without them",
			"streams have labels that could not be read: their entries are stored without them"))
	}
	if in.repeated > 0 {
		call.X.Header().Add(exchange.HeaderWarnings, words.Say(in.repeated,
			"key occurred more than once in an object: its last value was stored",
			"keys occurred more than once in an object: the last value of each was stored"))
	}
	if out.Skipped > 0 && out.Skipped == out.Records {
		return nil, errs.New(errs.InvalidArguments, "no entry of the request could be stored; the first: %s",
			out.Reasons[0].Error)
	}
	return out, nil
}

// isJSON reports whether the body is JSON. Otherwise it is protobuf.
func isJSON(h http.Header) (bool, error) {
	text := h.Get("Content-Type")
	media, _, err := mime.ParseMediaType(text)
	if err != nil {
		media = strings.ToLower(strings.TrimSpace(text))
	}
	switch media {
	case "application/json":
		return true, nil
	case "application/x-protobuf":
		return false, nil
	}
	return false, errs.New(errs.InvalidArguments,
		"the Content-Type is %s: send application/json, or application/x-protobuf with the body in a snappy block",
		strconv.Quote(clip(text)))
}

// clip shortens a client's text for a message.
func clip[T string | []byte](text T) string {
	const most = 64
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most]) + "…"
}

// blocks has memory for decoded snappy blocks.
var blocks = sync.Pool{New: func() any { return new([]byte) }}

// maxBlock limits the memory of a block that is kept for the next request.
const maxBlock = 4 << 20

// keep keeps the memory of a block for the next request, unless it is too large.
func keep(block *[]byte) {
	if cap(*block) <= maxBlock {
		blocks.Put(block)
	}
}

// maxExpansion is the highest compression ratio of snappy: an element of 3 bytes becomes at most 64 bytes
// (https://github.com/google/snappy/blob/main/format_description.txt). A block that claims a larger size is refused
// before memory is allocated.
const maxExpansion = 64/3 + 1

// decode returns the body as JSON in valid UTF-8, or as protobuf. It decodes into the memory of block.
func (d *Receiver) decode(call *httpreceiver.Call, isJSON bool, block *[]byte) ([]byte, error) {
	body := call.Body
	if isJSON {
		return call.JSON()
	}
	n, err := s2.DecodedLen(body)
	if err != nil {
		return nil, errs.New(errs.InvalidArguments,
			"the body is not a snappy block: %v; Loki's protobuf form is always in one", err)
	}
	if n > maxExpansion*len(body)+64 {
		return nil, errs.New(errs.InvalidArguments,
			"the body is not a snappy block: its %d bytes cannot become the %d bytes that it claims", len(body), n)
	}
	if err := call.Inflate(int64(n)); err != nil {
		return nil, err
	}
	out, err := s2.Decode((*block)[:0], body)
	if err != nil {
		return nil, errs.New(errs.InvalidArguments,
			"the body is not a snappy block: %v; Loki's protobuf form is always in one", err)
	}
	*block = out
	return out, nil
}

// push has the entries of one request. It may be read more than once.
type push struct {
	body         []byte
	block        []byte // what body was decoded from, unless it is JSON
	json         bool
	labelsInJSON bool
	// unreadable is the number of streams whose labels could not be parsed.
	unreadable int
	// repeated is the number of names that occurred more than once in the metadata or labels of an entry.
	repeated int
	// stream and at are the current stream and entry, for the rejects. bad is the text of a value that is not an
	// entry.
	stream *stream
	at     *entry
	bad    []byte
}

// streams reads the streams of the body.
func (p *push) streams(each func(s *stream) error) error {
	p.unreadable, p.repeated = 0, 0
	read := readProto
	if p.json {
		read = readJSON
	}
	err := read(p.body, func(s *stream) error {
		if s.badLabels {
			p.unreadable++
		}
		return each(s)
	})
	if err != nil && errs.CodeOf(err) == errs.Unknown {
		err = errs.New(errs.InvalidArguments, "%v", err)
	}
	return err
}

// entries reads the entries of a stream.
func (p *push) entries(s *stream, w *jsonwalk.Walker, e *entry, each func() error, bad func(text []byte) error) error {
	if !p.json {
		return s.eachEntry(e, each)
	}
	for _, raw := range s.values {
		if err := eachValue(raw, w, e, each, bad); err != nil {
			return err
		}
	}
	return nil
}

// The limits on labels. They are somewhat higher than Loki's defaults.
const (
	maxLabels     = 64
	maxNameBytes  = 1024
	maxValueBytes = 2048
	// maxMetadata limits the size of the structured metadata of an entry.
	maxMetadata = 128
	// maxTags limits the number of labels that become tags of a new table. Further labels become fields.
	maxTags = 16
)

// checkLabels returns the reason why entries with the labels are refused; nil means that they are accepted.
func checkLabels(labels *pairs) error {
	if labels.n > maxLabels {
		return errs.New(errs.InvalidArguments,
			"the stream has %d labels, and at most %d are allowed: send varying values as structured metadata",
			labels.n, maxLabels)
	}
	for _, l := range labels.list {
		switch {
		case len(l.name) > maxNameBytes:
			return errs.New(errs.InvalidArguments, "the name of the label %q has %d bytes, and at most %d are allowed",
				clip(l.name), len(l.name), maxNameBytes)
		case len(l.value) > maxValueBytes:
			return errs.New(errs.InvalidArguments,
				"the value of the label %q has %d bytes, and at most %d are allowed: send long values as structured metadata",
				clip(l.name), len(l.value), maxValueBytes)
		}
	}
	return nil
}

var errTime = errs.New(errs.InvalidArguments,
	"the time is out of range: 64 bits of nanoseconds cover the years 1677 to 2262")

var errMetadata = errs.New(errs.InvalidArguments,
	"the entry has more than %d items of structured metadata: send them in its line, as JSON", maxMetadata)

// hidden reports whether a label is internal to Loki, such as __path__.
func hidden(name []byte) bool {
	return len(name) > 4 && bytes.HasPrefix(name, []byte("__")) && bytes.HasSuffix(name, []byte("__"))
}
