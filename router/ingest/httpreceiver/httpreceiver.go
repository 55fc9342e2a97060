// Package httpreceiver has the common parts of receivers over HTTP: it finds the destination of records, reads the body
// within the limits of the user port, sets idempotency keys, and refuses requests before their body is read.
//
// A receiver creates a Call for each request, reads its body, decodes it into batches, stores them, and answers in the
// format of its protocol. This package does not decode protocols or write answers.
package httpreceiver

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/tracing"
	"cordwood/proto/turns"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
)

// Receiver has the settings of a protocol over HTTP in one place: on the user port, or on a separate listener.
type Receiver struct {
	Protocol  ingest.Protocol
	Ingestion *ingest.Service
	Bodies    *body.Reader
	// Log gets messages about what the answers of a protocol cannot express. If it is nil, nothing is logged.
	Log *slog.Logger
	// Defaults is the destination for requests that do not give one. It comes from the listener's settings and the
	// protocol's defaults.
	Defaults Target
	// NoEventTime stores records with the time of their arrival, unless a request overrides it.
	NoEventTime bool
	// Options are settings of a separate listener that only one protocol has, by name.
	Options map[string]string
	// DedupeBody uses the hash of the body as the key of requests without a key.
	DedupeBody bool
}

// Target is the destination of records. Empty fields are not set.
type Target struct {
	Database, Table, Pipeline, Version string
}

// Or returns the target with empty fields taken from other.
func (t Target) Or(other Target) Target {
	if t.Database == "" {
		t.Database = other.Database
	}
	if t.Table == "" {
		t.Table = other.Table
	}
	if t.Pipeline == "" {
		t.Pipeline, t.Version = other.Pipeline, other.Version
	}
	return t
}

// Call is one request of a protocol. It belongs to the goroutine of the request.
type Call struct {
	receiver *Receiver
	r        *http.Request
	// X is the exchange of the request.
	X *exchange.Exchange
	// Query has the parameters in the query string.
	Query params.Values
	// Explicit is the destination in headers and query string.
	Explicit Target
	// EventTime is set if records are stored with their own time and not with the time of arrival.
	EventTime bool
	// Key is the value of the header Idempotency-Key.
	Key string
	// Body is the decompressed body; nil before Receive.
	Body []byte

	template ingest.Batch
	content  *body.Body
	extra    int64  // reserved bytes besides the content
	text     int64  // the part of extra for Text
	sum      []byte // hash of Body; nil until a key needs it
}

// Begin reads the parameters of a request. Unknown parameters are ignored. Errors have code InvalidArguments.
func (d *Receiver) Begin(r *http.Request) (*Call, error) {
	c := &Call{receiver: d, r: r, X: exchange.Of(r), EventTime: !d.NoEventTime}
	var err error
	if c.Query, err = params.Parse(r.URL.RawQuery); err != nil {
		return nil, err
	}
	if c.Key, err = params.Key(r.Header); err != nil {
		return nil, err
	}
	h := r.Header
	c.Explicit = Target{
		Database: first(params.Header(h, "X-Svc-Db-Name"), c.Query.Get("db")),
		Table:    first(params.Header(h, "X-Svc-Log-Table-Name", "X-Svc-Table-Name"), c.Query.Get("table")),
		Pipeline: first(params.Header(h, "X-Svc-Pipeline-Name", "X-Svc-Log-Pipeline-Name"), c.Query.Get("pipeline_name")),
		Version:  first(params.Header(h, "X-Svc-Pipeline-Version", "X-Svc-Log-Pipeline-Version"), c.Query.Get("version")),
	}
	c.Explicit.Database = strings.TrimPrefix(c.Explicit.Database, "svc-")
	switch strings.ToLower(first(params.Header(h, "X-Svc-Event-Time"), c.Query.Get("event_time"))) {
	case "off":
		c.EventTime = false
	case "on":
		c.EventTime = true
	}
	b := &c.template
	b.Hints, _ = params.ParseHints(h)
	if how := d.Options[schema.OptionOnTypeConflict]; how != "" && b.Hints[schema.OptionOnTypeConflict] == "" {
		if b.Hints == nil {
			b.Hints = map[string]string{}
		}
		b.Hints[schema.OptionOnTypeConflict] = how
	}
	extra := params.ParsePipelineParams(params.Header(h, "X-Svc-Pipeline-Params"))
	b.MaxNestedLevels = extra.MaxNestedLevels
	b.SkipError = true // records that can never be stored must not block the others
	if b.Replayed, err = Replayed(h, c.Key); err != nil {
		return nil, err
	}
	if b.Replayed != nil {
		if err := ingest.PermitReplay(&c.X.Caller); err != nil {
			return nil, err
		}
	}
	if on := c.Query.Get("on_reject"); on == ingest.DropRejects || on == ingest.StoreRejects {
		b.OnReject = on
	}
	return c, nil
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// Target returns the destination of records, given the names in the protocol's own data.
func (c *Call) Target(named Target) Target {
	fixed := c.X.Caller.Fixed
	t := c.Explicit.Or(named).Or(Target{Database: fixed.Database, Table: fixed.Table, Pipeline: fixed.Pipeline})
	if t = t.Or(c.receiver.Defaults); t.Database == "" {
		t.Database = c.X.Caller.DefaultDatabase()
	}
	return t
}

// Open reads the parameters and the body of a request, for protocols that do not name a destination in their data.
// It calls Begin, Target and Receive. The caller must release the call, unless there is an error.
func (d *Receiver) Open(r *http.Request) (*Call, Target, error) {
	c, err := d.Begin(r)
	if err != nil {
		return nil, Target{}, err
	}
	t := c.Target(Target{})
	if err := c.Receive(t); err != nil {
		c.Release()
		return nil, Target{}, err
	}
	return c, t, nil
}

// Receive checks whether records for the target would be accepted, and then reads the body. Errors have the status
// that the user port uses. A receiver answers them in its own format.
func (c *Call) Receive(t Target) error {
	d, x := c.receiver, c.X
	if err := c.admit(t); err != nil {
		return err
	}
	c.r = c.r.WithContext(turns.WithDatabase(c.r.Context(), t.Database))
	var err error
	begin := time.Now()
	_, span := tracing.Start(c.r.Context(), "read body")
	c.content, err = d.Bodies.Receive(x, c.r, x.Start, x.Deadline)
	if err == nil {
		c.Body = c.content.Data
		span.Number("bytes", int64(len(c.Body)))
	}
	span.End(err)
	if err != nil {
		return c.Refuse(err)
	}
	d.Ingestion.Received(d.Protocol, time.Since(begin).Seconds())
	d.Ingestion.NoteBody(d.Protocol, &x.Caller, c.Body)
	return nil
}

// admit checks whether records for the target would be accepted.
func (c *Call) admit(t Target) error {
	return c.receiver.Ingestion.Admit(c.r.Context(), &ingest.Arrival{
		Protocol: c.receiver.Protocol, Caller: &c.X.Caller, Database: t.Database, Table: t.Table, Wait: true,
	})
}

// Stream checks whether records for the target would be accepted, and returns the body, to be read piece by piece.
// Its pieces are stored by StorePart. The caller must close it.
func (c *Call) Stream(t Target) (*body.Stream, error) {
	if err := c.admit(t); err != nil {
		return nil, err
	}
	c.r = c.r.WithContext(turns.WithDatabase(c.r.Context(), t.Database))
	s, err := c.receiver.Bodies.Stream(c.X, c.r, c.X.Start)
	if err != nil {
		return nil, c.Refuse(err)
	}
	return s, nil
}

// Hold reserves n bytes of the memory for bodies, for a piece of a streamed body.
func (c *Call) Hold(n int64) (*body.Body, error) {
	held, err := c.receiver.Bodies.Hold(c.r.Context(), nil)
	if err == nil {
		if err = held.Reserve(c.r.Context(), n); err == nil {
			return held, nil
		}
		held.Release()
	}
	return nil, c.Refuse(err)
}

// Grow changes a reservation to n bytes. If it returns an error, the reservation is unchanged.
func (c *Call) Grow(held *body.Body, n int64) error {
	if err := held.Reserve(c.r.Context(), n); err != nil {
		return c.Refuse(err)
	}
	return nil
}

// StorePart stores a batch with records of a streamed body. held holds n bytes for the records. Their rows need
// additional memory.
func (c *Call) StorePart(b *ingest.Batch, held *body.Body, n int64) *ingest.Outcome {
	out := &c.receiver.Ingestion.Store(c.r.Context(), &ingest.Request{
		Protocol: c.receiver.Protocol, Caller: &c.X.Caller, Deadline: c.X.Deadline, Memory: memory{held, n}, Wait: true,
		Batches: []*ingest.Batch{b},
	})[0]
	forbidden(out)
	return out
}

// Lookup calls Service.Lookup.
func (c *Call) Lookup(q *ingest.Lookup) ([]string, error) {
	return c.receiver.Ingestion.Lookup(c.r.Context(), q)
}

// Inflate reserves n bytes for data that is decoded from the body, besides the body itself.
func (c *Call) Inflate(n int64) error {
	n += c.text
	if err := c.content.Reserve(c.r.Context(), n); err != nil {
		return c.Refuse(err)
	}
	c.extra = n
	return nil
}

// CheckDecoded returns an error if the decoded data is larger than a body may be.
func (c *Call) CheckDecoded(n int64) error {
	limit := c.receiver.Bodies.MaxBytes()
	if limit <= 0 || n <= limit {
		return nil
	}
	return errs.New(errs.InvalidArguments,
		"the records of the body have more than %d bytes, decompressed: send smaller requests or raise --http-body-limit",
		limit).WithStatus(http.StatusRequestEntityTooLarge)
}

// Refuse counts a request that is refused because its body cannot be read. If the memory for bodies is exhausted,
// the status becomes 503 and not 429, because it is not the client's limit, and clients such as OpenTelemetry's for
// Python drop the data after 429.
func (c *Call) Refuse(err error) error {
	if e := errs.From(err); e.Code == errs.RateLimited {
		err = e.WithStatus(http.StatusServiceUnavailable)
	}
	return c.receiver.Ingestion.Failed(c.receiver.Protocol, ingest.StageBody, err)
}

// Batch returns a batch for the target. The receiver must set its input and, if the protocol has keys, call SetKey.
// Otherwise the request's key is used, or the hash of its body if that was requested.
func (c *Call) Batch(t Target) *ingest.Batch {
	b := c.template
	b.Database, b.Table, b.Pipeline = t.Database, t.Table, t.Pipeline
	b.Version, b.HasVersion = t.Version, t.Version != ""
	b.Bytes = int64(len(c.Body))
	by := params.Header(c.r.Header, headerDedupe)
	if c.Key != "" || strings.EqualFold(by, "body") || by == "" && c.receiver.DedupeBody {
		c.SetKey(&b, c.Key)
	}
	return &b
}

// memory is the memory that a call has reserved, without the part for the decoded body.
type memory struct {
	content *body.Body
	extra   int64
}

func (m memory) Reserve(ctx context.Context, n int64) error {
	return m.content.Reserve(ctx, m.extra+n)
}

func (m memory) TryReserve(n int64) bool { return m.content.TryReserve(m.extra + n) }

// Store stores the batches and returns their outcomes. It also sets headers of the answer that report changed values,
// so no part of the answer may have been sent.
func (c *Call) Store(batches ...*ingest.Batch) []ingest.Outcome {
	outs := c.receiver.Ingestion.Store(c.r.Context(), &ingest.Request{
		Protocol: c.receiver.Protocol, Caller: &c.X.Caller, Deadline: c.X.Deadline, Memory: memory{c.content, c.extra},
		Wait: true, Batches: batches,
	})
	for i := range outs {
		forbidden(&outs[i])
	}
	tell(c.X.Header(), outs)
	return outs
}

// forbidden makes a batch fail if the sender may store none of its records. Otherwise the clients of most protocols
// would not notice, because their answers cannot say which records were refused.
func forbidden(out *ingest.Outcome) {
	if out.Err == nil && out.Records > 0 && out.SkippedBy[pipeline.SkipPermission] == out.Records && len(out.Reasons) > 0 {
		out.Err = errs.New(errs.PermissionDenied, "no record of the request may be stored: %s", out.Reasons[0].Error)
	}
}

// Release frees the memory of the body. Data decoded from it must not be used afterwards.
func (c *Call) Release() {
	if c.content != nil {
		c.content.Release()
	}
}

// Text returns the body as valid UTF-8. Invalid bytes become U+FFFD, which headers of the answer report. Zeros follow
// the text, as they follow Body, so that scanners can read it in place.
func (c *Call) Text() ([]byte, error) {
	if utf8.Valid(c.Body) {
		return c.Body, nil
	}
	n := 3*int64(len(c.Body)) + body.Pad
	if err := c.Inflate(n); err != nil {
		return nil, err
	}
	c.text = n
	c.X.Header().Add(exchange.HeaderWarnings, "the body is not valid UTF-8: U+FFFD was stored for each invalid part")
	valid := bytes.ToValidUTF8(c.Body, []byte("\uFFFD"))
	return append(valid, make([]byte, body.Pad)...)[:len(valid)], nil
}

// JSON returns a JSON body as Text does. It also reports escapes that became U+FFFD.
func (c *Call) JSON() ([]byte, error) {
	text, err := c.Text()
	if err != nil {
		return nil, err
	}
	if n := jsonscan.CountLoneSurrogates(text); n > 0 {
		c.X.Header().Add(exchange.HeaderWarnings, pipeline.LoneWarning(n))
	}
	return text, nil
}

// AdmitAll checks whether records for the tables of all batches would be accepted, before any of them is stored. It
// is for protocols whose clients resend the whole request.
func (c *Call) AdmitAll(batches []*ingest.Batch) error {
	return c.receiver.Ingestion.AdmitAll(c.r.Context(), c.receiver.Protocol, batches)
}

// HasPipeline reports whether a pipeline with the name is stored.
func (c *Call) HasPipeline(name string) bool {
	return c.receiver.Ingestion.HasPipeline(c.r.Context(), name)
}

// TableName converts another system's name to a valid table name. Invalid characters become _, and if the first
// character is not allowed at the start, _ is put before it. "" stays "".
func TableName(name string) string {
	if name == "" || schema.CheckTableName(name) == nil {
		return name
	}
	out := []byte(name)
	for i, c := range out {
		if schema.CheckTableName("_"+string(rune(c))) != nil || c >= utf8.RuneSelf {
			out[i] = '_'
		}
	}
	if schema.CheckTableName(string(out[:1])) != nil {
		out = append([]byte("_"), out...)
	}
	return string(out[:min(len(out), schema.MaxNameBytes)])
}
