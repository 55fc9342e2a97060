// Package httpdoor is what the doors have in common whose protocol goes over HTTP: where the records
// of a request go, its body within the limits of the user port, keys, and the refusals that must
// be cheap.
//
// A door makes a Call of each request, reads its body, decodes it into batches, has them stored, and
// answers in the words of its protocol. The package decodes no protocol and answers nothing.
package httpdoor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/tracing"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
)

// Door is a protocol at one place: its paths on the user port, or a listener of its own.
type Door struct {
	Protocol  ingest.Protocol
	Ingestion *ingest.Service
	Bodies    *body.Reader
	// Log takes what the answers of a protocol cannot say; nil: it is discarded.
	Log *slog.Logger
	// Defaults is where the records go of requests that say nothing of it: what the listener is set
	// to, completed by the protocol's defaults.
	Defaults Target
	// NoEventTime stores records with the time of their arrival unless a request says otherwise.
	NoEventTime bool
	// Options are settings of a listener of its own, by name, a protocol reads the ones that only it has.
	Options map[string]string
	// DedupeBody makes the hash of the body the key of a request that has none.
	DedupeBody bool
}

// Target is where records go; an empty string leaves it open.
type Target struct {
	Database, Table, Pipeline, Version string
}

// Or returns the target, with what it leaves open as in other.
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

// Call is one request at a door. It belongs to the goroutine of the request.
type Call struct {
	door *Door
	r    *http.Request
	// X is the exchange of the request.
	X *exchange.Exchange
	// Query is the query string.
	Query params.Values
	// Explicit is what headers and query say of where the records go.
	Explicit Target
	// EventTime says that records are stored with their own time, not with the time of arrival.
	EventTime bool
	// Key is the header Idempotency-Key.
	Key string
	// Body is the body, decompressed; nil before Receive.
	Body []byte

	template ingest.Batch
	content  *body.Body
	extra    int64  // bytes besides the content
	text     int64  // of them those of Text
	sum      []byte // hash of Body; nil until a key needs it
}

// Begin reads what a request says beside its body. Parameters that are not known have no effect. Errors
// have code InvalidArguments.
func (d *Door) Begin(r *http.Request) (*Call, error) {
	c := &Call{door: d, r: r, X: exchange.Of(r), EventTime: !d.NoEventTime}
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
	b.SkipError = true // what can never be stored must not keep the rest away
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

// Target returns where records go, given what the protocol names.
func (c *Call) Target(named Target) Target {
	t := c.Explicit.Or(named).Or(c.door.Defaults)
	if t.Database == "" {
		t.Database = schema.DefaultDatabase
	}
	return t
}

// Open reads what a request says and then its body, for protocols that name no place for records beside it: Begin,
// Target and Receive. The call is to be released unless there is an error.
func (d *Door) Open(r *http.Request) (*Call, Target, error) {
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

// Receive asks whether records for the target would be taken, and then reads the body. Errors have the
// status that the user port answers with; a door answers them in its own words.
func (c *Call) Receive(t Target) error {
	d, x := c.door, c.X
	if err := c.admit(t); err != nil {
		return err
	}
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

// admit asks whether records for the target would be taken.
func (c *Call) admit(t Target) error {
	return c.door.Ingestion.Admit(c.r.Context(), &ingest.Arrival{
		Protocol: c.door.Protocol, Caller: &c.X.Caller, Database: t.Database, Table: t.Table, Wait: true,
	})
}

// Stream asks whether records for the target would be taken, and returns the body to be read bit by bit. What is stored
// of it is given to StorePart. It is to be closed.
func (c *Call) Stream(t Target) (*body.Stream, error) {
	if err := c.admit(t); err != nil {
		return nil, err
	}
	s, err := c.door.Bodies.Stream(c.X, c.r, c.X.Start)
	if err != nil {
		return nil, c.Refuse(err)
	}
	return s, nil
}

// Hold returns a share of the memory for bodies, of n bytes, for a part of a body that comes bit by bit.
func (c *Call) Hold(n int64) (*body.Body, error) {
	held, err := c.door.Bodies.Hold(c.r.Context(), nil)
	if err == nil {
		if err = held.Reserve(c.r.Context(), n); err == nil {
			return held, nil
		}
		held.Release()
	}
	return nil, c.Refuse(err)
}

// Grow makes a share one of n bytes. The share stays as it was if there is an error.
func (c *Call) Grow(held *body.Body, n int64) error {
	if err := held.Reserve(c.r.Context(), n); err != nil {
		return c.Refuse(err)
	}
	return nil
}

// StorePart stores a batch with records of a body that comes bit by bit. held holds n bytes for them, beside which
// their rows need room.
func (c *Call) StorePart(b *ingest.Batch, held *body.Body, n int64) *ingest.Outcome {
	return &c.door.Ingestion.Store(c.r.Context(), &ingest.Request{
		Protocol: c.door.Protocol, Caller: &c.X.Caller, Deadline: c.X.Deadline, Memory: memory{held, n}, Wait: true,
		Batches: []*ingest.Batch{b},
	})[0]
}

// Lookup finds the table of a batch, as the service does.
func (c *Call) Lookup(q *ingest.Lookup) ([]string, error) {
	return c.door.Ingestion.Lookup(c.r.Context(), q)
}

// Inflate asks for the memory of n bytes that are decoded from the body, beside the body itself.
func (c *Call) Inflate(n int64) error {
	n += c.text
	if err := c.content.Reserve(c.r.Context(), n); err != nil {
		return c.Refuse(err)
	}
	c.extra = n
	return nil
}

// CheckDecoded returns an error if what is decoded from the body has so many bytes that a body may not have them.
func (c *Call) CheckDecoded(n int64) error {
	limit := c.door.Bodies.MaxBytes()
	if limit <= 0 || n <= limit {
		return nil
	}
	return errs.New(errs.InvalidArguments,
		"the records of the body have more than %d bytes, decompressed: send smaller requests or raise --http-body-limit",
		limit).WithStatus(http.StatusRequestEntityTooLarge)
}

// Refuse counts a request that is refused because its body cannot be read. If the memory for bodies is taken, the
// status is 503: that is no limit of the client, and clients such as OpenTelemetry's for Python lose what is answered
// by 429.
func (c *Call) Refuse(err error) error {
	if e := errs.From(err); e.Code == errs.RateLimited {
		err = e.WithStatus(http.StatusServiceUnavailable)
	}
	return c.door.Ingestion.Failed(c.door.Protocol, ingest.StageBody, err)
}

// headerDedupe says how a repetition of a request without a key is recognised: body.
const headerDedupe = "X-Svc-Dedupe"

// Batch returns a batch for the target: its input, and its key if the protocol has one, are for the
// door to set by SetKey. The key of the request is taken, or the hash of its body if that was asked for.
func (c *Call) Batch(t Target) *ingest.Batch {
	b := c.template
	b.Database, b.Table, b.Pipeline = t.Database, t.Table, t.Pipeline
	b.Version, b.HasVersion = t.Version, t.Version != ""
	b.Bytes = int64(len(c.Body))
	by := params.Header(c.r.Header, headerDedupe)
	if c.Key != "" || strings.EqualFold(by, "body") || by == "" && c.door.DedupeBody {
		c.SetKey(&b, c.Key)
	}
	return &b
}

// SetKey makes the batch known by a key of the client's, and by the body: another body under the same key is
// another batch, since clients of other protocols do not know what to do about a refusal. The batches of a
// request share its key.
func (c *Call) SetKey(b *ingest.Batch, key string) {
	if c.sum == nil {
		sum := sha256.Sum256(c.Body)
		c.sum = sum[:]
	}
	h := sha256.New()
	parts := []string{key, b.Database, b.Table}
	if b.Pipeline != "" && b.Pipeline != ingest.IdentityPipeline {
		parts = append(parts, b.Pipeline) // a request may have batches for one table through several
	}
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	_, _ = h.Write(c.sum)
	b.Key = string(c.door.Protocol) + "-" + hex.EncodeToString(h.Sum(nil))
}

// KeyByBody makes the batch known by the body of the request, if it has no other key and the request does not say by
// what it is known (x-svc-dedupe: off).
func (c *Call) KeyByBody(b *ingest.Batch) {
	if b.Key == "" && params.Header(c.r.Header, headerDedupe) == "" {
		c.SetKey(b, "")
	}
}

// memory is the share of a call in the memory for bodies, less what the decoded body takes.
type memory struct {
	content *body.Body
	extra   int64
}

func (m memory) Reserve(ctx context.Context, n int64) error {
	return m.content.Reserve(ctx, m.extra+n)
}

func (m memory) TryReserve(n int64) bool { return m.content.TryReserve(m.extra + n) }

// Store stores the batches and returns what became of each. The headers of the answer, which is not begun yet, get
// what was stored otherwise than it came.
func (c *Call) Store(batches ...*ingest.Batch) []ingest.Outcome {
	outs := c.door.Ingestion.Store(c.r.Context(), &ingest.Request{
		Protocol: c.door.Protocol, Caller: &c.X.Caller, Deadline: c.X.Deadline, Memory: memory{c.content, c.extra},
		Wait: true, Batches: batches,
	})
	tell(c.X.Header(), outs)
	return outs
}

// Release gives the memory of the body back. Nothing that was decoded from it may be used any more.
func (c *Call) Release() {
	if c.content != nil {
		c.content.Release()
	}
}

// Text returns the body as valid UTF-8, with U+FFFD in the place of invalid bytes, which the headers of the answer
// report. As in Body, zeros follow it, so that scanners read it in place.
func (c *Call) Text() ([]byte, error) {
	if utf8.Valid(c.Body) {
		return c.Body, nil
	}
	n := 3*int64(len(c.Body)) + body.Pad
	if err := c.Inflate(n); err != nil {
		return nil, err
	}
	c.text = n
	c.X.Header().Add(exchange.HeaderWarnings, "the body is not valid UTF-8: U+FFFD was stored in the place of what is not")
	valid := bytes.ToValidUTF8(c.Body, []byte("\uFFFD"))
	return append(valid, make([]byte, body.Pad)...)[:len(valid)], nil
}

// JSON is Text for a body of JSON whose texts the door decodes: escapes that became U+FFFD are reported too.
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

// AdmitAll asks whether records for the tables of all batches would be taken, before any of them is stored, for
// protocols whose clients send a request again as a whole.
func (c *Call) AdmitAll(batches []*ingest.Batch) error {
	return c.door.Ingestion.AdmitAll(c.r.Context(), c.door.Protocol, batches)
}

// HasPipeline reports whether a pipeline of the name is stored.
func (c *Call) HasPipeline(name string) bool {
	return c.door.Ingestion.HasPipeline(c.r.Context(), name)
}

// TableName makes a table's name of a name that another system allows: characters that none may have
// become _, and one that none may begin with gets _ before it. "" stays.
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
