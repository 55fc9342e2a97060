package elasticsearch

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"cordwood/router/httpapi/exchange"
)

func appendInt(to []byte, v int) []byte { return strconv.AppendInt(to, int64(v), 10) }

// parts determines which parts of the answer to a bulk request the client wants.
type parts struct{ took, errors, items, whole bool }

// partsOf reads the parameter filter_path. It understands the paths that known clients send.
func partsOf(r *http.Request) parts {
	text := r.URL.Query().Get("filter_path")
	if text == "" {
		return parts{took: true, errors: true, items: true, whole: true}
	}
	var p parts
	for path := range strings.SplitSeq(text, ",") {
		switch {
		case path == "took":
			p.took = true
		case path == "errors":
			p.errors = true
		case path == "items" || path == "items.*" || path == "items.**":
			p.items, p.whole = true, true
		case strings.HasPrefix(path, "items."):
			p.items = true
		}
	}
	return p
}

// answerBulk answers with an item for each operation. If all operations may succeed later, the status is 503, which
// all clients understand.
func answerBulk(w http.ResponseWriter, r *http.Request, operations []operation) {
	failed, rejected := 0, 0
	var passing error
	for i := range operations {
		if operations[i].status >= http.StatusBadRequest {
			failed++
		}
		if operations[i].status == http.StatusTooManyRequests {
			rejected++
			passing = operations[i].fault.err
		}
	}
	if rejected > 0 {
		exchange.SetRetryHeaders(w, r, passing, rejected == len(operations))
	}
	if rejected > 0 && rejected == len(operations) {
		writeRefused(w, r, operations, appendError(nil, typeRejected, operations[0].fault.reason))
		return
	}
	p := partsOf(r)
	begin(w, r)
	out := append(make([]byte, 0, 2*pieceBytes), '{')
	if p.took {
		out = append(strconv.AppendInt(append(out, `"took":`...), exchange.Of(r).Millis(), 10), ',')
	}
	if p.errors {
		out = append(strconv.AppendBool(append(out, `"errors":`...), failed > 0), ',')
	}
	if p.items && p.whole && failed == 0 && len(operations) >= minZipped && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusOK)
		writeZipped(w, append(out, `"items":[`...), operations, newNames())
		return
	}
	w.WriteHeader(http.StatusOK)
	if p.items {
		out = writeItems(w, append(out, `"items":[`...), operations, p.whole, newNames())
	}
	_, _ = w.Write(append(bytes.TrimSuffix(out, []byte{','}), '}', '\n')) // the client may be gone
}

// writeItems writes out and then the items. It returns the bytes that are not written yet, which end with a comma.
func writeItems(w http.ResponseWriter, out []byte, operations []operation, whole bool, n *names) []byte {
	for i := range operations {
		if i > 0 {
			out = append(out, ',')
		}
		out = writePiece(w, operations[i].appendItem(append(out, '{', '"'), whole, n))
	}
	return append(out, ']', ',')
}

// minZipped is the number of operations from which an answer is large enough to be compressed.
const minZipped = 8

// storedItem is the end of the item of a stored document, after its id.
const storedItem = `,"_version":1,"result":"created","_shards":{"total":1,"successful":1,"failed":0},"_seq_no":0,` +
	`"_primary_term":1,"status":201}},`

// writeZipped writes begin, the items of operations that were all stored, and the end of the answer, compressed
// with gzip.
func writeZipped(w io.Writer, begin []byte, operations []operation, n *names) {
	z := newZipped(w)
	z.literal(begin)
	end := []byte(storedItem)
	var head, id, idBefore []byte
	var last *command
	before := 0 // the size of the previous item
	for i := 0; i < len(operations); i++ {
		if i > 0 && operations[i-1].id == nil {
			few := operations[i-1 : min(i+len(idLetters), len(operations)-1)] // the last item has another end
			if more := n.ids.neighbours(alike(few)); more > 0 {
				idBefore = z.items(head, end, more, n.ids, idBefore)
				i += more
			}
		}
		o := &operations[i]
		id = o.appendID(id[:0], n)
		same := 0
		if o.command == last {
			for same < len(id) && same < len(idBefore) && id[same] == idBefore[same] {
				same++
			}
			z.repeat(append(head, id[:same]...), before)
		} else {
			last = o.command
			head = append(append(append(head[:0], '{', '"'), o.verb...), `":{`...)
			head = o.appendIndex(head)
			z.literal(head)
		}
		z.literal(id[same:])
		before = len(head) + len(id) + len(end)
		if i+1 == len(operations) {
			end = append(end[:len(end)-1], "]}\n"...)
		}
		if i == 0 {
			z.literal(end)
		} else {
			z.repeat(end[:len(storedItem)-1], before)
			z.literal(end[len(storedItem)-1:])
		}
		id, idBefore = idBefore, id
	}
	z.end()
}

// alike returns the number of operations after the first one that have the same command and no id. The first one must
// have no id.
func alike(operations []operation) (n int) {
	first := operations[0].command
	for n+1 < len(operations) && operations[n+1].command == first && operations[n+1].id == nil {
		n++
	}
	return n
}

// items writes count items whose ids differ from each other and from the previous one only in their last letter. head
// and end are the parts of an item before and after its id, and before is the id of the previous item. It returns the
// last id, in the memory of before.
func (z *zipped) items(head, end []byte, count int, ids *madeIDs, before []byte) []byte {
	// Consecutive items are equal except for the letter.
	letter := len(head) + len(before) - 2
	period := len(head) + len(before) + len(end)
	both := append(append(append([]byte(nil), head...), before...), end...)
	both = append(both, both[:letter]...)
	z.repeat(both[:letter], period)
	for i := range count {
		ids.number++
		before[len(before)-2] = idLetters[ids.number&63]
		z.literal(before[len(before)-2 : len(before)-1])
		if i+1 < count {
			z.repeat(both[letter+1:], period)
		}
	}
	z.repeat(both[letter+1:period], period)
	return before
}

// pieceBytes is the maximum part of an answer that is in memory. The items of a large request are larger than its
// body.
const pieceBytes = 32 << 10

// writePiece writes out if it is long enough. It returns the bytes that are not written yet.
func writePiece(w io.Writer, out []byte) []byte {
	if len(out) < pieceBytes {
		return out
	}
	_, _ = w.Write(out) // the client may be gone
	return out[:0]
}

// appendItem appends the item of an operation after the opening brace.
func (o *operation) appendItem(to []byte, whole bool, n *names) []byte {
	to = append(append(to, o.verb...), `":`...)
	return append(o.appendResult(to, whole, n), '}')
}

// appendResult appends the result of an operation.
func (o *operation) appendResult(to []byte, whole bool, n *names) []byte {
	to = append(to, '{')
	if whole {
		to = o.appendName(to, n)
	}
	if whole && o.status < http.StatusBadRequest {
		to = append(to, storedItem[1:strings.Index(storedItem, `"status"`)]...)
	}
	to = appendInt(append(to, `"status":`...), int(o.status))
	if o.fault != nil {
		to = appendError(append(to, `,"error":`...), o.fault.kind, o.fault.reason)
	}
	return append(to, '}')
}

// appendName appends index and id, followed by a comma.
func (o *operation) appendName(to []byte, n *names) []byte {
	if o.command != n.last {
		n.index = o.appendIndex(n.index[:0])
		n.last = o.command
	}
	return append(o.appendID(append(to, n.index...), n), ',')
}

// appendIndex appends the index and the text before the id.
func (o *operation) appendIndex(to []byte) []byte {
	index := o.index
	if len(index) > maxIndex {
		index = strings.ToValidUTF8(index[:maxIndex], "")
	}
	return append(exchange.AppendJSONString(append(to, `"_index":`...), index), `,"_id":`...)
}

// appendID appends the id that was sent, or a generated one.
func (o *operation) appendID(to []byte, n *names) []byte {
	if o.id != nil {
		return exchange.AppendJSONString(to, string(o.id))
	}
	return append(n.ids.append(append(to, '"')), '"')
}

// names has the names of the documents in an answer.
type names struct {
	ids *madeIDs
	// index is the JSON text of the last index, because most documents share it.
	index []byte
	last  *command
}

func newNames() *names { return &names{ids: newMadeIDs()} }

// madeIDs generates ids for documents that have none. Like Elasticsearch's ids they have 20 characters. The ids of a
// request share their first characters, because answers are compressed, and random ids would be the largest part of a
// compressed answer.
type madeIDs struct {
	shared [madeIDShared]byte
	number uint64
}

const (
	madeIDLength = 20
	madeIDShared = 15
)

const idLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func newMadeIDs() *madeIDs {
	m := &madeIDs{number: rand.Uint64()} //nolint:gosec // it is not a secret
	for i := range m.shared {
		m.shared[i] = idLetters[rand.IntN(len(idLetters))] //nolint:gosec // as above
	}
	return m
}

// append appends an id. The ids of a request differ in their last characters, which have more values than a body can
// have documents.
func (m *madeIDs) append(to []byte) []byte {
	to = append(to, m.shared[:]...)
	m.number++
	for bits := 6 * (madeIDLength - madeIDShared - 1); bits >= 0; bits -= 6 {
		to = append(to, idLetters[m.number>>bits&63])
	}
	return to
}

// neighbours returns the number of next ids, at most n, that differ from the last id only in their last letter.
func (m *madeIDs) neighbours(n int) int { return min(n, int(63-m.number&63)) }

// writeRefused answers a bulk request if none of its documents is stored.
func writeRefused(w http.ResponseWriter, r *http.Request, operations []operation, detail []byte) {
	begin(w, r)
	w.WriteHeader(http.StatusServiceUnavailable)
	to := append([]byte(`{"took":0,"errors":true,"status":503,"error":`), detail...)
	to = append(to, `,"items":[`...)
	named := newNames()
	for i := range operations {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(append(append(to, '{', '"'), operations[i].verb...), `":{`...)
		to = operations[i].appendName(to, named)
		to = writePiece(w, append(append(append(to, `"status":429,"error":`...), detail...), `}}`...))
	}
	_, _ = w.Write(append(to, "]}\n"...)) // the client may be gone
}

// answerDocument answers for a single document.
func answerDocument(w http.ResponseWriter, r *http.Request, operations []operation) {
	o := &operations[0]
	if o.status == http.StatusTooManyRequests {
		exchange.SetRetryHeaders(w, r, o.fault.err, true)
	}
	if o.fault == nil {
		write(w, r, http.StatusCreated, o.appendResult(nil, true, newNames()))
		return
	}
	out := appendError([]byte(`{"error":`), o.fault.kind, o.fault.reason)
	write(w, r, int(o.status), append(appendInt(append(out, `,"status":`...), int(o.status)), '}'))
}

const (
	// peekBytes is the number of bytes of a refused body that are searched for commands, and peekTime the time in
	// which they must arrive.
	peekBytes = 64 << 10
	peekTime  = time.Second
)

// peek reads the beginning of a refused body, for the items of the answer.
func peek(w http.ResponseWriter, r *http.Request) []operation {
	if r.Body == nil {
		return nil
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(peekTime)) // not all connections support it
	var in io.Reader = r.Body
	switch r.Header.Get("Content-Encoding") {
	case "":
	case "gzip":
		var err error
		if in, err = gzip.NewReader(io.LimitReader(r.Body, peekBytes)); err != nil {
			return nil
		}
	default:
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(in, peekBytes+1)) // whatever has arrived is searched
	if len(body) > peekBytes {
		body = body[:bytes.LastIndexByte(body[:peekBytes], '\n')+1]
	}
	operations, err := new(reader).read(body)
	if err != nil {
		return nil
	}
	return operations
}
