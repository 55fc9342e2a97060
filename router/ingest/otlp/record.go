package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"strconv"

	"cordwood/router/vrl/jsonscan"
)

// record is a log record, with the data that it shares with others. Its slices are valid until the next record is
// read.
type record struct {
	*scope
	time, observed uint64 // nanoseconds since 1970; 0 if it is unknown
	severity       int64
	severityText   []byte
	body           []byte // text, or JSON
	bodyText       []byte // buffer for a body that is not stored as it was received
	attributes     []byte // a JSON object
	flags          uint64
	traceID        []byte // hexadecimal
	spanID         []byte
	raw            []byte // the original record
	members        members
	// repeated is the number of keys that occurred twice in the record's attributes, or in shared attributes that
	// were read before it.
	repeated int
}

// scope has the data that the records of an instrumentation scope and of its resource share.
type scope struct {
	name, version, attributes, schemaURL []byte
	resource, resourceURL                []byte // attributes and schema of the resource
	raw, rawResource                     []byte // the original messages
	// bad and badResource are the reasons why the attributes, and therefore the records, cannot be stored.
	bad, badResource error
	// found and foundResource are the attributes that become columns; nil if they are not searched yet.
	found, foundResource [][]byte
	repeated             int
	members              members
}

// failed returns the reason why no record of the scope can be stored.
func (s *scope) failed() error {
	if s.badResource != nil {
		return s.badResource
	}
	return s.bad
}

// reset clears the record for the next one, and keeps its memory.
func (r *record) reset(s *scope) {
	*r = record{
		scope: s, bodyText: r.bodyText, attributes: append(r.attributes[:0], '{'), traceID: r.traceID[:0],
		spanID: r.spanID[:0], members: r.members, repeated: s.repeated,
	}
	r.members.next()
	s.repeated = 0
}

// end completes the attributes.
func (r *record) end(eventName []byte) {
	if len(eventName) > 0 {
		r.members.note([]byte("event.name"), r.attributes)
		r.attributes = appendKey(r.attributes, []byte("event.name"))
		r.attributes = jsonscan.AppendQuotedBytes(r.attributes, eventName)
	}
	var left int
	r.attributes, left = r.members.settle(r.attributes)
	r.attributes = append(r.attributes, '}')
	r.repeated += left
}

// moment returns the time of the record: its own time or, if it has none, the time of observation. If neither
// exists, ok is false. It returns an error if the time does not fit into signed 64-bit nanoseconds since 1970.
func (r *record) moment() (ns int64, ok bool, err error) {
	t := r.time
	if t == 0 {
		t = r.observed
	}
	if t > math.MaxInt64 {
		return 0, false, errTime
	}
	return int64(t), t != 0, nil
}

var (
	errTime     = errors.New("its time is after 2262, the last year that 64 bits of nanoseconds can express")
	errObserved = errors.New("its observed time is after 2262, the last year that 64 bits of nanoseconds can express")
	errLong     = errors.New("its attributes take more than 16 MiB as JSON")
	errDepth    = errors.New("its attributes or its body are nested too deep")
	errProto    = errors.New("the body is not a protobuf message ExportLogsServiceRequest")
)

// maxAttributes limits the size of the attributes of a record, a scope or a resource, in bytes of JSON.
const maxAttributes = 16 << 20

// maxDepth limits the nesting of values.
const maxDepth = 32

// appendKey appends the key of the next member of the object at the end of to.
func appendKey(to, key []byte) []byte {
	if to[len(to)-1] != '{' {
		to = append(to, ',')
	}
	return append(jsonscan.AppendQuotedBytes(to, key), ':')
}

// appendBase64 appends bytes in base64, without quotes.
func appendBase64(to, data []byte) []byte { return base64.StdEncoding.AppendEncode(to, data) }

func appendHex(to, data []byte) []byte { return hex.AppendEncode(to, data) }

// severities are the names of severity numbers. Each also exists with 2, 3 and 4 appended.
var severities = []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}

// severityOf returns the number of a name such as SEVERITY_NUMBER_INFO2.
func severityOf(name string) (int64, bool) {
	const prefix = "SEVERITY_NUMBER_"
	if len(name) <= len(prefix) || name[:len(prefix)] != prefix {
		n, err := strconv.ParseInt(name, 10, 32)
		return n, err == nil
	}
	name = name[len(prefix):]
	if name == "UNSPECIFIED" {
		return 0, true
	}
	for i, s := range severities {
		for j, suffix := range []string{"", "2", "3", "4"} {
			if name == s+suffix {
				return int64(4*i + j + 1), true
			}
		}
	}
	return 0, false
}
