package elasticsearch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/pipeline"
)

// maxTables limits the number of indexes of one request.
const maxTables = 1000

// The verbs of commands.
const (
	verbCreate = "create"
	verbIndex  = "index"
	verbUpdate = "update"
	verbDelete = "delete"
)

// Bulk stores the documents of a bulk request.
func (d *Receiver) Bulk(w http.ResponseWriter, r *http.Request) {
	d.serve(w, r, func(c *httpreceiver.Call) ([]operation, bool, error) {
		b := reader{
			byDefault: cmp.Or(mux.Vars(r)["index"], c.Explicit.Table, c.X.Caller.Fixed.Table, d.Defaults.Table),
			room:      func(n int) error { return c.Inflate(int64(n) * perOperation) },
		}
		operations, err := b.read(c.Body)
		return operations, b.timed, err
	}, answerBulk)
}

// Document stores one document.
func (d *Receiver) Document(w http.ResponseWriter, r *http.Request) {
	d.serve(w, r, func(c *httpreceiver.Call) ([]operation, bool, error) {
		vars := mux.Vars(r)
		op := operation{
			command: &command{verb: verbIndex, index: vars["index"]}, document: bytes.TrimSpace(c.Body), group: -1, next: -1,
		}
		if id := vars["id"]; id != "" {
			op.id = []byte(id)
		}
		if len(op.index) > maxIndex {
			return nil, false, errs.New(errs.InvalidArguments, "the name of the index has %d bytes: at most %d are allowed",
				len(op.index), maxIndex)
		}
		if len(op.document) == 0 || op.document[0] != '{' {
			return nil, false, errs.New(errs.InvalidArguments, "the body is not a JSON object")
		}
		return []operation{op}, bytes.Contains(op.document, timestampKey), nil
	}, answerDocument)
}

// serve answers a request. read returns the operations, and whether a document may have a time.
func (d *Receiver) serve(
	w http.ResponseWriter, r *http.Request, read func(c *httpreceiver.Call) ([]operation, bool, error),
	answer func(http.ResponseWriter, *http.Request, []operation),
) {
	c, err := d.Begin(r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	defer c.Release()
	if p := r.URL.Query().Get("pipeline"); p != "" && c.Explicit.Pipeline == "" {
		c.Explicit.Pipeline = p
	}
	if c.Explicit.Pipeline == "_none" {
		c.Explicit.Pipeline = ingest.IdentityPipeline
	}
	if err := c.Receive(c.Target(httpreceiver.Target{Table: d.tableOf(c, mux.Vars(r)["index"])})); err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	operations, timed, err := read(c)
	if err != nil {
		exchange.WriteError(w, r, c.Refuse(err))
		return
	}
	defer release(operations)
	d.store(c, operations, timed)
	answer(w, r, operations)
}

// tableOf returns the table for an index.
func (d *Receiver) tableOf(c *httpreceiver.Call, index string) string {
	keep := d.KeepDates
	switch c.Query.Get("index_date") {
	case "keep":
		keep = true
	case "strip":
		keep = false
	}
	if !keep {
		index = withoutDate(index)
	}
	return httpreceiver.TableName(index)
}

// group has the documents of a request with the same destination.
type group struct {
	target      httpreceiver.Target
	first, last int32
	records     int
	ids         bool // every document has an id
	bytes       int64
}

// store stores the documents and sets the status of each operation. timed is set if a document may have a time.
func (d *Receiver) store(c *httpreceiver.Call, operations []operation, timed bool) {
	groups := d.groups(c, operations)
	batches := make([]*ingest.Batch, len(groups))
	how := feeding{
		field: c.Query.Get("msg_field"), column: c.Query.Get("id_column"), eventTime: c.EventTime && timed, now: c.X.Start,
	}
	for i, g := range groups {
		b := c.Batch(g.target)
		b.Each, b.Bytes = true, g.bytes
		if g.ids && b.Key == "" {
			b.Key = g.key(operations, how.column)
		}
		if how.column != "" {
			byID(b, how.column)
		}
		b.Input = ingest.Records(func(to *ingest.Sink) error { return g.feed(to, &how, operations) })
		batches[i] = b
	}
	if len(batches) == 0 {
		return
	}
	for i, out := range c.Store(batches...) {
		groups[i].settle(operations, &out)
	}
}

// byID makes the id the primary key of a new table. The table then keeps the last row of each id and time.
func byID(b *ingest.Batch, column string) {
	hints := maps.Clone(b.Hints)
	if hints == nil {
		hints = map[string]string{}
	}
	for option, value := range map[string]string{
		schema.OptionAppendMode: "false", schema.OptionMergeMode: schema.MergeLastRow,
	} {
		if hints[option] == "" {
			hints[option] = value
		}
	}
	b.Hints = hints
	b.Tags = map[string]bool{column: true}
}

// groups returns a group for each destination, in the order in which the request mentions them.
func (d *Receiver) groups(c *httpreceiver.Call, operations []operation) (groups []*group) {
	type place struct{ index, pipeline string }
	at := map[place]int32{} // by table
	tables := map[string]string{}
	var before place
	var found int32 = -1
	for i := range operations {
		o := &operations[i]
		if o.fault != nil {
			continue
		}
		if p := (place{o.index, o.pipeline}); found < 0 || p != before {
			table, known := tables[o.index]
			if !known {
				table = d.tableOf(c, o.index)
				tables[o.index] = table
			}
			k, ok := at[place{table, o.pipeline}]
			if !ok && len(groups) == maxTables {
				o.fail(http.StatusBadRequest, typeArgument, "a request may have documents for at most "+
					strconv.Itoa(maxTables)+" indexes")
				continue
			}
			if !ok {
				k = int32(len(groups)) //nolint:gosec // at most maxTables
				named := httpreceiver.Target{Table: table, Pipeline: o.pipeline}
				if named.Pipeline == "_none" {
					named.Pipeline = ingest.IdentityPipeline
				}
				groups = append(groups, &group{target: c.Target(named), first: -1, ids: true})
				at[place{table, o.pipeline}] = k
			}
			before, found = p, k
		}
		g := groups[found]
		if g.first < 0 {
			g.first = int32(i) //nolint:gosec // bounded by the body
		} else {
			operations[g.last].next = int32(i) //nolint:gosec // as above
		}
		g.last, o.group = int32(i), found //nolint:gosec // as above
		g.records++
		g.ids, g.bytes = g.ids && o.id != nil, g.bytes+int64(len(o.document))
	}
	return groups
}

// key returns a key for documents that all have an id. If the same documents are sent again, they are stored once.
func (g *group) key(operations []operation, column string) string {
	h := sha256.New()
	var n [8]byte
	part := func(b []byte) {
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		_, _ = h.Write(n[:]) // writing to a hash does not fail
		_, _ = h.Write(b)
	}
	part([]byte(g.target.Database))
	part([]byte(g.target.Table))
	if column != "" {
		part([]byte(column)) // another column produces other rows
	}
	if g.target.Pipeline != ingest.IdentityPipeline {
		part([]byte(g.target.Pipeline)) // another pipeline produces other rows too
	}
	for i := g.first; i >= 0; i = operations[i].next {
		part(operations[i].id)
		part(operations[i].document)
	}
	return string(ingest.Elasticsearch) + "-" + hex.EncodeToString(h.Sum(nil))
}

// feeding has the settings for converting documents to records.
type feeding struct {
	field     string // the parameter msg_field
	column    string // the column for ids; "" means that ids are not stored
	eventTime bool   // whether times in documents are used
	now       time.Time
}

// feed passes the documents of a group to its pipeline.
func (g *group) feed(to *ingest.Sink, f *feeding, operations []operation) error {
	now := f.now.UnixNano()
	for i, n := g.first, int64(0); i >= 0; i, n = operations[i].next, n+1 {
		document := operations[i].document
		at := now + n // so that the rows keep their order
		if f.eventTime {
			if t, ok := timeOf(document); ok {
				at = t
			}
		}
		to.At(at)
		if f.field != "" {
			document = inner(document, f.field)
		}
		if f.column != "" && operations[i].id != nil {
			document = withID(document, f.column, operations[i].id)
		}
		if err := to.JSON(document); err != nil {
			return err
		}
	}
	return nil
}

// settle sets the status of the operations of a group.
func (g *group) settle(operations []operation, out *ingest.Outcome) {
	if out.Err != nil {
		status, kind := statusOf(out.Err)
		reason := errs.From(out.Err).ClientMessage()
		why := &fault{kind, reason, out.Err}
		for i := g.first; i >= 0; i = operations[i].next {
			operations[i].status, operations[i].fault = int32(status), why //nolint:gosec // it has three digits
		}
		return
	}
	refused := out.Refused
	for i, n := g.first, 0; i >= 0; i, n = operations[i].next, n+1 {
		operations[i].status = http.StatusCreated
		for len(refused) > 0 && refused[0].Index == n {
			operations[i].refuse(&refused[0])
			refused = refused[1:]
		}
	}
}

// refuse sets the error of a document that its batch left out.
func (o *operation) refuse(r *pipeline.Reason) {
	switch r.Kind {
	case pipeline.SkipQuota:
		o.fail(http.StatusTooManyRequests, typeRejected, r.Error)
		o.fault.err = errs.New(errs.RateLimited, "%s", r.Error).WithRetryAfter(schema.QuotaWait)
	case pipeline.SkipPermission:
		o.fail(http.StatusForbidden, typeSecurity, r.Error)
	default:
		o.fail(http.StatusBadRequest, typeParsing, r.Error)
	}
}

func (o *operation) fail(status int, kind, reason string) {
	o.status, o.fault = int32(status), &fault{kind, reason, nil} //nolint:gosec // it has three digits
}
