// Package httpdoor is what doors that come by HTTP have in common: where a request says that its records
// go, how its body is read, and how both become a request of package ingest.
//
// The order in which a target is looked for is that of all protocols: headers, the query string, what
// the protocol names itself, the settings of the listener, the protocol's default.
//
// A Door is made once for a protocol, and once more for each listener of its own. It may be used by any number of requests.
package httpdoor

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/tracing"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
)

// Route is one URL of a door. Its request is asked again before its rows are written, by the service.
type Route struct {
	Methods []string
	// Path may have variables, as {index}, which mux.Vars has.
	Path string
	// Needs is access.Insert for what stores rows, access.SignedIn for what a client asks before, and
	// access.Open for what anybody may ask.
	Needs   access.Privilege
	Handler http.HandlerFunc
}

// Settings are what the listener of a door says, for requests that do not.
type Settings struct {
	Database, Table, Pipeline string
	// NoEventTime gives records the time of their arrival.
	NoEventTime bool
	// DedupeBody takes equal bodies for the same one that was sent again.
	DedupeBody bool
	// More are settings that only one protocol knows.
	More map[string]string
}

// Door is what handlers of a protocol work with.
type Door struct {
	Protocol ingest.Protocol
	Service  *ingest.Service
	Bodies   *body.Reader
	// Table and Pipeline are the protocol's defaults. Without a pipeline the door maps records to columns itself.
	Table, Pipeline string
	Settings        Settings
}

// With returns the door with the settings of a listener.
func (d *Door) With(settings Settings) *Door {
	out := *d
	out.Settings = settings
	return &out
}

// Call is one request at a door.
type Call struct {
	door *Door
	x    *exchange.Exchange
	r    *http.Request
	// Query is the query string, as lenient as that of all our paths.
	Query params.Values
	// Warnings tell what the headers say without effect.
	Warnings []string

	hints     map[string]string
	extra     params.PipelineParams
	skipError bool
	key       string
}

// Begin reads what a request says beside its body. Its errors have code InvalidArguments.
func (d *Door) Begin(r *http.Request) (*Call, error) {
	c := &Call{door: d, x: exchange.Of(r), r: r, skipError: true}
	var err error
	if c.Query, err = params.Parse(r.URL.RawQuery); err != nil {
		return nil, d.failed(err)
	}
	if c.key, err = params.Key(r.Header); err != nil {
		return nil, d.failed(err)
	}
	if c.skipError, err = c.Query.Bool("skip_error", true); err != nil {
		c.skipError = true // the parameter may be another one of the protocol
	}
	c.hints, c.Warnings = params.ParseHints(r.Header)
	c.extra = params.ParsePipelineParams(params.Header(r.Header, "X-Svc-Pipeline-Params"))
	if c.Warnings = append(c.Warnings, c.extra.Warnings...); c.extra.HasSkipError {
		c.skipError = c.extra.SkipError
	}
	return c, nil
}

func (d *Door) failed(err error) error {
	return d.Service.Failed(d.Protocol, ingest.StageParameters, err)
}

// Caller returns who sends the request.
func (c *Call) Caller() *access.Caller { return &c.x.Caller }

// Database returns the database; named is what the protocol names itself.
func (c *Call) Database(named string) string {
	name := cmp.Or(params.Header(c.r.Header, "X-Svc-Db-Name"), c.Query.Get("db"), named, c.door.Settings.Database)
	return cmp.Or(strings.TrimPrefix(name, "svc-"), schema.DefaultDatabase)
}

// Table returns the table; named is what the protocol names itself.
func (c *Call) Table(named string) string {
	return cmp.Or(params.Header(c.r.Header, "X-Svc-Log-Table-Name"), c.Query.Get("table"), named, c.door.Settings.Table, c.door.Table)
}

// Pipeline returns the pipeline, "" for a direct mapping; named is what the protocol names itself.
func (c *Call) Pipeline(named string) string {
	return cmp.Or(params.Header(c.r.Header, "X-Svc-Pipeline-Name", "X-Svc-Log-Pipeline-Name"), c.Query.Get("pipeline_name"),
		named, c.door.Settings.Pipeline, c.door.Pipeline)
}

// EventTime reports whether the records' own times are theirs in the table.
func (c *Call) EventTime() bool {
	switch strings.ToLower(cmp.Or(params.Header(c.r.Header, "X-Svc-Event-Time"), c.Query.Get("event_time"))) {
	case "off":
		return false
	case "on":
		return true
	}
	return !c.door.Settings.NoEventTime
}

// Setting returns a parameter that only the protocol knows, by the query string or the listener.
func (c *Call) Setting(name string) string {
	return cmp.Or(c.Query.Get(name), c.door.Settings.More[name])
}

// Receive asks whether rows may be stored, and reads the body. A door whose table stands in the body gives no
// table. The caller releases the body.
func (c *Call) Receive(database, table string) (*body.Body, error) {
	d := c.door
	if err := d.Service.Admit(c.r.Context(), &ingest.Arrival{
		Protocol: d.Protocol, Caller: &c.x.Caller, Database: database, Table: table, Wait: true,
	}); err != nil {
		return nil, err
	}
	begin := time.Now()
	_, span := tracing.Start(c.r.Context(), "read body")
	b, err := d.Bodies.Receive(c.x, c.r, c.x.Start, c.x.Deadline)
	if err == nil {
		span.Number("bytes", int64(len(b.Data)))
	}
	span.End(err)
	if err != nil {
		return nil, c.BadBody(err)
	}
	d.Service.Received(d.Protocol, time.Since(begin).Seconds())
	d.Service.NoteBody(d.Protocol, &c.x.Caller, b.Data)
	return b, nil
}

// BadBody counts a body that cannot be read at all, and returns its error.
func (c *Call) BadBody(err error) error {
	return c.door.Service.Failed(c.door.Protocol, ingest.StageBody, err)
}

// Batch returns a batch for a table, with all that the request says beside its body. Records that fail are left out,
// unless the request says skip_error=false. The door may change it.
func (c *Call) Batch(database, table, pipeline string, in ingest.Input) *ingest.Batch {
	b := &ingest.Batch{
		Database: database, Table: table, Pipeline: pipeline, SkipError: c.skipError, Each: true,
		MaxNestedLevels: c.extra.MaxNestedLevels, Hints: c.hints, Input: in,
	}
	if v := cmp.Or(params.Header(c.r.Header, "X-Svc-Pipeline-Version", "X-Svc-Log-Pipeline-Version"), c.Query.Get("version")); v != "" && pipeline != ingest.IdentityPipeline {
		b.Version, b.HasVersion = v, true
	}
	if pipeline == ingest.IdentityPipeline {
		if b.TimeIndex = c.Query.Get("custom_time_index"); b.TimeIndex != "" {
			b.HasTimeIndex = true
		}
	}
	if on := c.Query.Get("on_reject"); on == ingest.DropRejects || on == ingest.StoreRejects {
		b.OnReject = on
	}
	return b
}

// Key returns the key of a batch: own is what the protocol has for one, as a number of a request; the header
// Idempotency-Key goes before it. data is what the batch holds: it is part of the key, so that other
// records under the same key are stored and not taken for those. "" means that the batch has no key.
func (c *Call) Key(own string, data []byte) string {
	key := cmp.Or(c.key, own)
	if key == "" && !c.dedupe() {
		return ""
	}
	sum := sha256.Sum256(data)
	return string(c.door.Protocol) + "\n" + key + "\n" + hex.EncodeToString(sum[:])
}

// dedupe reports whether equal bodies are the same one.
func (c *Call) dedupe() bool {
	return c.door.Settings.DedupeBody || strings.EqualFold(params.Header(c.r.Header, "X-Svc-Dedupe"), "body")
}

// Store stores batches and returns what became of each. b is the body that holds their records; it may be nil.
func (c *Call) Store(b *body.Body, batches ...*ingest.Batch) []ingest.Outcome {
	q := &ingest.Request{
		Protocol: c.door.Protocol, Caller: &c.x.Caller, Deadline: c.x.Deadline, Wait: true, Batches: batches,
	}
	if b != nil {
		q.Memory = b
	}
	out := c.door.Service.Store(c.r.Context(), q)
	for i := range out {
		c.warn(&out[i])
	}
	return out
}

// warn adds what an outcome tells to the headers of the answer.
func (c *Call) warn(out *ingest.Outcome) {
	h := c.x.Header()
	for _, list := range [][]string{c.Warnings, out.Warnings, out.Written.Warnings} {
		for _, text := range list {
			if len(h[exchange.HeaderWarnings]) < maxWarnings {
				h.Add(exchange.HeaderWarnings, exchange.HeaderText(text))
			}
		}
	}
	c.Warnings = nil
}

// maxWarnings bounds the warnings of one answer.
const maxWarnings = 16

// MayPass reports whether the same batch may be stored later although err refused it now.
func MayPass(err error) bool {
	switch e := errs.From(err); e.Status() {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusInternalServerError, http.StatusRequestTimeout:
		return true
	}
	return false
}
