package syslog

import (
	"mime"
	"net/http"
	"strings"
	"time"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/vrl/logformat/syslog"
)

// The headers of Heroku's logplex, and the content type of its bodies.
const (
	headerFrame = "Logplex-Frame-Id"
	headerToken = "Logplex-Drain-Token" //nolint:gosec // the name of a header
	typeLogplex = "application/logplex-1"
)

// Drain receives messages over HTTP from Heroku's drains. They are framed as over TCP, and have the format of RFC
// 5424 without structured data.
type Drain struct {
	httpreceiver.Receiver
	parser, old *syslog.Parser
}

// NewDrain returns a Drain. Its defaults are the destination for requests that do not give one.
func NewDrain(d httpreceiver.Receiver) *Drain {
	d.Protocol = ingest.Heroku
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Table: DefaultTable})
	out := &Drain{Receiver: d, parser: &syslog.Parser{Zone: time.UTC, Now: time.Now}}
	old := *out.parser
	old.Format = syslog.RFC3164
	out.old = &old
	return out
}

// RefuseDrain answers an error with its plain text. Logplex drops messages answered with 4xx, and resends others.
func RefuseDrain(w http.ResponseWriter, _ *http.Request, why *exchange.Refusal) {
	status := why.Status
	if why.Passing() {
		status = http.StatusServiceUnavailable
	}
	httpreceiver.WriteText(w, status, why.Text)
}

// Take stores the messages in the body of a request.
func (d *Drain) Take(w http.ResponseWriter, r *http.Request) {
	if err := d.take(r); err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (d *Drain) take(r *http.Request) error {
	call, target, err := d.Open(r)
	if err != nil {
		return err
	}
	defer call.Release()
	in := &input{parser: d.parser, old: d.old}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // a malformed type counts as plain syslog
	in.noData = media == typeLogplex
	from := r.Header.Get(headerToken)
	if from == "" || len(from) > maxToken {
		from = call.X.Caller.Address.String()
	}
	if in.records, err = cutMessages(call, strings.ToValidUTF8(from, "\uFFFD")); err != nil {
		return err
	}
	if len(in.records) == 0 {
		return nil
	}
	b := call.Batch(target)
	if id := r.Header.Get(headerFrame); id != "" && call.Key == "" {
		call.SetKey(b, id)
	}
	if b.OnReject == "" {
		b.OnReject = ingest.StoreRejects // the answer cannot say which messages were refused
	}
	b.Input = in.of(b.Pipeline != "")
	out := &call.Store(b)[0]
	switch {
	case out.Err != nil:
		return out.Err
	case out.Skipped > 0 && out.Skipped == out.Records:
		return errs.New(errs.InvalidArguments, "no message of the request could be stored; the first: %s",
			out.Reasons[0].Error)
	}
	return nil
}

// maxToken limits the length of a drain's token.
const maxToken = 256

// cutMessages finds the messages in the body of a request. It shortens none of them, because the size of the body
// is limited.
func cutMessages(call *httpreceiver.Call, from string) ([]sockreceiver.Record, error) {
	var records []sockreceiver.Record
	f := framing{max: len(call.Body), cut: func() {}}
	at := call.X.Start.UnixNano()
	for data := call.Body; len(data) > 0; {
		n, message := f.Next(data, true)
		data = data[n:]
		if len(message) == 0 {
			continue
		}
		if n := cap(records); len(records) == n {
			n = max(64, 2*n)
			size := int64(n+cap(records)) * int64(unsafe.Sizeof(sockreceiver.Record{}))
			if err := call.Inflate(size); err != nil {
				return nil, err
			}
			records = append(make([]sockreceiver.Record, 0, n), records...)
		}
		records = append(records, sockreceiver.Record{Data: message, From: from, At: at})
	}
	return records, nil
}

// withDash inserts the dash for missing structured data into a message of RFC 5424.
func withDash(text string) string {
	const parts = 6 // priority and version, time, host, app, process, id
	end := 0
	for range parts {
		n := strings.IndexByte(text[end:], ' ')
		if n < 0 {
			return text
		}
		end += n + 1
	}
	return text[:end] + "- " + text[end:]
}
