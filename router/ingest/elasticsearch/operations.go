package elasticsearch

import (
	"bytes"
	"net/http"
	"sync"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/router/ingest/jsonwalk"
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
