package datadog

import (
	"bytes"
	"errors"
	"mime"
	"net/http"

	"cordwood/proto/errs"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/ingest/timefield"
	"cordwood/router/vrl/jsonscan"
)

// fieldTags is the field with the tags of a log.
const fieldTags = "ddtags"

// attributes are the fields that a log gets from the query string if it lacks them. They become tags of the table.
var attributes = [...]string{"ddsource", "service", "hostname"}

// Logs stores the logs in the body of a request: an array of objects, objects one after another, or text.
func (d *Receiver) Logs(w http.ResponseWriter, r *http.Request) {
	if err := d.store(r); err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	exchange.WriteJSON(w, http.StatusAccepted, []byte("{}"))
}

func (d *Receiver) store(r *http.Request) error {
	call, target, err := d.Open(r)
	if err != nil {
		return err
	}
	defer call.Release()
	text, err := call.Text()
	if err != nil {
		return err
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // a malformed type counts as JSON
	switch {
	case media == "application/logplex-1":
		return call.Refuse(errs.New(errs.Unsupported, "logs of Heroku's drains go to /v1/heroku"))
	case len(bytes.TrimSpace(text)) == 0:
		return call.Refuse(errs.New(errs.InvalidArguments, "the body has no logs: send an array of JSON objects"))
	case isProbe(text):
		return nil
	}
	in := &input{body: text, lines: media == "text/plain", eventTime: call.EventTime, arrival: call.X.Start.UnixNano()}
	in.readQuery(call)
	b := call.Batch(target)
	if b.OnReject == "" {
		b.OnReject = ingest.StoreRejects // the answer cannot say which logs were refused
	}
	b.Tags = map[string]bool{}
	for _, name := range attributes {
		b.Tags[name] = true
	}
	b.JSON = []string{fieldTags}
	b.Input = ingest.Records(in.give)
	return call.Store(b)[0].Err
}

// isProbe reports whether a body is the empty object that the agent sends when it starts.
func isProbe(text []byte) bool {
	if len(text) > len(" { } \r\n") {
		return false
	}
	return string(bytes.Join(bytes.Fields(text), nil)) == "{}"
}

// input has the logs of a request. It may be read more than once.
type input struct {
	body      []byte
	lines     bool // the body is text, and each line is a log
	eventTime bool
	arrival   int64 // nanoseconds since 1970
	// query has the attributes in the query string, in quotes; nil if it is absent. tags are the tags in the query
	// string.
	query [len(attributes)][]byte
	tags  []byte

	sink   *ingest.Sink
	n      int64 // number of logs so far
	read   bool  // whether any of them was JSON
	line   []byte
	record []byte
	list   []tag
}

// readQuery reads the values in the query string that apply to all logs.
func (in *input) readQuery(c *httpreceiver.Call) {
	for i, name := range attributes {
		if v := c.Query.Get(name); v != "" {
			in.query[i] = jsonscan.AppendQuoted(nil, v)
		}
	}
	in.tags = []byte(c.Query.Get(fieldTags))
}

// give passes the logs to a pipeline.
func (in *input) give(to *ingest.Sink) error {
	in.sink, in.n, in.read = to, 0, false
	if in.lines {
		return in.giveLines()
	}
	err := jsonwalk.Values(in.body, in.log, in.malformed)
	if syntax := (*jsonscan.Error)(nil); errors.As(err, &syntax) {
		return errs.New(errs.InvalidArguments, "the body is not an array of logs: %v", err)
	}
	if err == nil && !in.read && in.n > 0 {
		err = errs.New(errs.InvalidArguments, "the body has no logs: send an array of JSON objects")
	}
	return err
}

// malformed handles a line that is not JSON.
func (in *input) malformed(line []byte, err error) error {
	in.n++
	return in.sink.Refuse(line, errs.New(errs.InvalidArguments, "the log is not valid JSON: %v", err))
}

// log reads a log and passes it to the pipeline.
func (in *input) log(w *jsonwalk.Walker) error {
	if w.Kind() != '{' {
		raw, err := w.Raw()
		if err != nil {
			return err
		}
		return in.put(append(in.record[:0], raw...), in.now())
	}
	l, err := readLog(w)
	if err != nil {
		return err
	}
	at := in.now()
	if l.timed && in.eventTime {
		at = l.nanos
	}
	return in.putLog(&l, at)
}

// putLog passes the record of a log to the pipeline.
func (in *input) putLog(l *log, at int64) error {
	record := in.appendRecord(in.record[:0], l)
	if err := in.sink.Repeat(max(0, len(record)-len(l.text))); err != nil {
		return err
	}
	return in.put(record, at)
}

// now returns the arrival time of the next log. It increases, so that the rows keep their order.
func (in *input) now() int64 { return in.arrival + in.n }

// log has the parsed parts of a log in the body.
type log struct {
	text  []byte // valid while the body is
	nanos int64
	timed bool
	// tags is text[from:to] if to > 0.
	tags     []byte
	from, to int
	has      [len(attributes)]bool
}

// readLog reads a log.
func readLog(w *jsonwalk.Walker) (log, error) {
	var l log
	start := w.Pos()
	err := w.Object(func(key []byte) error {
		switch string(key) {
		case "timestamp":
			var err error
			l.nanos, l.timed, err = timefield.Read(w)
			return err
		case fieldTags:
			if w.Kind() != '"' {
				return w.Skip()
			}
			l.from = w.Pos() - start
			text, inPlace, err := w.String()
			if !inPlace {
				text = bytes.Clone(text)
			}
			l.tags, l.to = text, w.Pos()-start
			return err
		}
		for i, name := range attributes {
			if string(key) == name {
				l.has[i] = true
			}
		}
		return w.Skip()
	})
	l.text = w.Since(start)
	return l, err
}

// appendRecord appends the record of a log: its text, with the tags as an object, and the values from the query
// string.
func (in *input) appendRecord(to []byte, l *log) []byte {
	if l.to > 0 {
		to = append(to, l.text[:l.from]...)
		to = in.appendTags(to, l.tags)
		to = append(to, l.text[l.to:len(l.text)-1]...)
	} else {
		to = append(to, l.text[:len(l.text)-1]...)
		if len(in.tags) > 0 {
			to = in.appendTags(append(comma(to), `"`+fieldTags+`":`...), nil)
		}
	}
	for i, v := range in.query {
		if v != nil && !l.has[i] {
			to = append(jsonscan.AppendQuoted(comma(to), attributes[i]), ':')
			to = append(to, v...)
		}
	}
	return append(to, '}')
}

// comma appends a comma before a further member of the current object, if it has members already.
func comma(to []byte) []byte {
	if last := bytes.TrimRight(to, " \t\r\n"); last[len(last)-1] == '{' {
		return to
	}
	return append(to, ',')
}

// giveLines passes lines of text to the pipeline.
func (in *input) giveLines() error {
	for rest := in.body; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) == 0 {
			continue
		}
		in.line = append(jsonscan.AppendQuotedBytes(append(in.line[:0], `{"message":`...), line), '}')
		if err := in.putLog(&log{text: in.line}, in.now()); err != nil {
			return err
		}
	}
	return nil
}

// padding follows a record, so that it can be read in place.
var padding [body.Pad]byte

// put passes a record to the pipeline.
func (in *input) put(record []byte, at int64) error {
	in.n, in.read = in.n+1, true
	in.sink.At(at)
	in.record = append(record, padding[:]...)
	return in.sink.JSON(in.record[:len(record)])
}
