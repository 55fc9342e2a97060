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
	"sync"
	"time"
	"unsafe"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/pipeline"
)

// operation is a command of a bulk request and its document. A request may have a million of them.
type operation struct {
	*command
	id          []byte // nil if none was sent
	document    []byte
	fault       *fault // the error of the item; nil if none is known
	status      int32  // the status of the item
	group, next int32  // the batch of the operation, and the next operation of this batch; -1 if there is none
}

// command has the parts that operations with equal commands share.
type command struct {
	verb     string
	index    string // as it was sent
	pipeline string
}

// fault is an error of an item.
type fault struct {
	kind, reason string
	err          error // of the whole batch; nil means that only this document failed
}

// maxTables limits the number of indexes of one request.
const maxTables = 1000

// maxIndex limits the length of the name of an index, as Elasticsearch does.
const maxIndex = 255

// perOperation is the memory of an operation, including its command.
const perOperation = int64(unsafe.Sizeof(operation{}) + unsafe.Sizeof(command{}))

// reader reads the commands and documents of a body.
type reader struct {
	// byDefault is the index for commands without one.
	byDefault string
	// room reserves the memory for a total number of operations; nil means that the memory is not counted.
	room func(operations int) error

	// timed is set if a document may have a time. The time is searched for here, because the document is still in the
	// processor's cache.
	timed bool

	out   []operation
	walk  jsonwalk.Walker
	names map[string]string // texts that occur repeatedly
	line  []byte            // the previous command line and its result
	same  operation
}

// read reads a body.
func (b *reader) read(body []byte) ([]operation, error) {
	b.names = map[string]string{}
	if err := b.grow(operationsIn(body)); err != nil {
		return nil, err
	}
	for number := 1; len(body) > 0; number++ {
		var op operation
		if n := len(b.line); n > 0 && n < len(body) && body[n] == '\n' && string(body[:n]) == string(b.line) {
			op, body = b.same, body[n+1:]
		} else {
			var line []byte
			var err error
			if line, body = cutLine(body); len(line) == 0 {
				continue
			}
			if op, err = b.operation(line); err != nil {
				return nil, errs.New(errs.InvalidArguments,
					"line %d of the body is not a command such as {\"create\":{\"_index\":\"logs\"}}: %s", number, err)
			}
		}
		for op.verb != verbDelete && len(op.document) == 0 && len(body) > 0 {
			op.document, body = cutLine(body)
			number++
		}
		if op.verb != verbDelete && len(op.document) == 0 {
			break // a last command without a document does not count
		}
		if why := op.check(); why != "" {
			op.fail(http.StatusBadRequest, typeParsing, why)
		}
		if len(b.out) == cap(b.out) {
			if err := b.grow(2 * len(b.out)); err != nil {
				return nil, err
			}
		}
		b.timed = b.timed || bytes.Contains(op.document, timestampKey)
		b.out = append(b.out, op)
	}
	return b.out, nil
}

// countedBytes is the number of bytes of a body that are searched for lines at each of three places, to estimate the
// number of lines.
const countedBytes = 32 << 10

// operationsIn estimates the number of operations in a body. Usually a document follows each command. For a long
// body, the part with the fewest lines counts, so that a few short documents do not cause a large reservation.
func operationsIn(body []byte) int {
	if len(body) <= 4*countedBytes {
		return bytes.Count(body, []byte{'\n'})/2 + 1
	}
	lines := countedBytes
	for _, from := range [...]int{0, len(body) / 2, len(body) - countedBytes} {
		lines = min(lines, bytes.Count(body[from:from+countedBytes], []byte{'\n'}))
	}
	all := int(int64(lines) * int64(len(body)) / countedBytes)
	return (all+all/8)/2 + 1
}

// grow makes room for n operations.
func (b *reader) grow(n int) error {
	list := b.kept(n)
	size := n + len(b.out) // while they are copied, both lists are in memory
	if list != nil {
		size = cap(list)
	}
	if b.room != nil {
		if err := b.room(size); err != nil {
			return err
		}
	}
	if list == nil {
		list = append(make([]operation, 0, n), b.out...)
	}
	b.out = list
	return nil
}

// kept returns the memory of an earlier request's list for n operations, or nil if there is none. Lists with room for
// more than four times as many are kept for larger requests, because the whole list counts against the budget of a
// request.
func (b *reader) kept(n int) []operation {
	if len(b.out) > 0 {
		return nil
	}
	list, ok := operationLists.Get().(*[]operation)
	switch {
	case !ok || cap(*list) < n:
		return nil
	case cap(*list) > 4*n:
		operationLists.Put(list)
		return nil
	}
	return *list
}

// operationLists keeps memory for the operations of later requests, because new memory causes a page fault for every
// 4 KiB.
var operationLists sync.Pool

// maxKept limits the number of lists that are kept.
const maxKept = 20_000

// release keeps the memory of answered operations.
func release(operations []operation) {
	if cap(operations) > maxKept {
		return
	}
	clear(operations) // they contain slices of the body
	operations = operations[:0]
	operationLists.Put(&operations)
}

// operation returns the operation of a command, without its document.
func (b *reader) operation(line []byte) (operation, error) {
	if b.line != nil && bytes.Equal(line, b.line) {
		return b.same, nil
	}
	op := operation{group: -1, next: -1}
	c := command{index: b.byDefault}
	if err := b.readCommand(line, &c, &op); err != nil {
		return op, err
	}
	if op.command = b.same.command; op.command == nil || *op.command != c {
		op.command = &c
	}
	b.line, b.same = line, op
	return op, nil
}

// check returns the reason why the operation cannot be stored, or "" if no reason is known yet.
func (o *operation) check() string {
	switch {
	case o.verb == verbDelete:
		return "delete is not supported: rows expire by the ttl of their table, and SQL deletes them"
	case o.verb == verbUpdate:
		return "update is not supported: send the whole document with index"
	case o.document[0] != '{':
		return "the document is not a JSON object"
	case o.index == "":
		return "an index is missing: give it as _index of the command, or in the path"
	case len(o.index) > maxIndex:
		return "the name of the index has more than 255 bytes"
	}
	return ""
}

// cutLine returns the first line without surrounding white space, and the rest.
func cutLine(body []byte) (line, rest []byte) {
	line = body
	if end := bytes.IndexByte(body, '\n'); end >= 0 {
		line, rest = body[:end], body[end+1:]
	}
	if len(line) > 0 && !isBlank(line[0]) && !isBlank(line[len(line)-1]) {
		return line, rest
	}
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	for len(line) > 0 && isBlank(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	return line, rest
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// The verbs of commands.
const (
	verbCreate = "create"
	verbIndex  = "index"
	verbUpdate = "update"
	verbDelete = "delete"
)

// skipMember skips a member after the action of a command. Elasticsearch ignores such members, and
// winston-elasticsearch stores its number of attempts there.
func skipMember(w *jsonwalk.Walker, key string) error {
	switch key {
	case verbCreate, verbIndex, verbUpdate, verbDelete:
		return errs.New(errs.InvalidArguments, "it has two actions")
	}
	return w.Skip()
}

// readCommand parses a command, and the id of its operation.
func (b *reader) readCommand(line []byte, c *command, o *operation) error {
	w := &b.walk
	w.Reset(line)
	err := w.Object(func(key []byte) error {
		if c.verb != "" {
			return skipMember(w, string(key))
		}
		switch string(key) {
		case verbCreate:
			c.verb = verbCreate
		case verbIndex:
			c.verb = verbIndex
		case verbUpdate:
			c.verb = verbUpdate
		case verbDelete:
			c.verb = verbDelete
		default:
			return errs.New(errs.InvalidArguments, "its action must be create or index")
		}
		return w.Object(func(key []byte) error {
			switch string(key) {
			case "_index":
				return b.name(&c.index)
			case "pipeline":
				return b.name(&c.pipeline)
			case "_id":
				return o.readID(w)
			}
			return w.Skip()
		})
	})
	switch {
	case err != nil:
		return err
	case !w.AtEnd():
		return errs.New(errs.InvalidArguments, "there is text after it on its line")
	case c.verb == "":
		return errs.New(errs.InvalidArguments, "it has no action")
	}
	return nil
}

// name reads a text that probably occurs several times in a body. Other values count as missing.
func (b *reader) name(to *string) error {
	if b.walk.Kind() != '"' {
		return b.walk.Skip()
	}
	s, _, err := b.walk.String()
	if err != nil || len(s) == 0 {
		return err
	}
	known, ok := b.names[string(s)]
	if !ok {
		known = string(s)
		b.names[known] = known
	}
	*to = known
	return nil
}

// maxID limits the size of an _id, as Elasticsearch does.
const maxID = 512

// readID reads an _id, which is a text or a number. null counts as missing.
func (o *operation) readID(w *jsonwalk.Walker) error {
	if w.Kind() != '"' {
		if w.Null() {
			return nil
		}
		raw, err := w.Raw()
		o.id = raw
		return err
	}
	s, inPlace, err := w.String()
	if err != nil || len(s) == 0 {
		return err
	}
	if !inPlace {
		s = bytes.Clone(s)
	}
	if o.id = s; len(s) > maxID {
		o.id = s[:maxID]
		return errs.New(errs.InvalidArguments, "its _id has %d bytes: at most %d are allowed", len(s), maxID)
	}
	return nil
}

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
