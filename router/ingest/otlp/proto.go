package otlp

import (
	"cmp"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"cordwood/router/ingest/protowalk"
	"cordwood/router/vrl/jsonscan"
)

// field is a field of a message.
type field struct{ protowalk.Field }

// next removes the first field from a message. At the end of the message, ok is false.
func next(msg *[]byte, f *field) (ok bool, err error) {
	if ok, err = protowalk.Next(msg, &f.Field); err != nil {
		return false, errProto
	}
	return ok, nil
}

// is reports whether the field has a number in kinds and the type for that number. Other fields are skipped, like
// unknown fields.
func (f *field) is(kinds []protowire.Type) bool {
	return f.Number > 0 && int(f.Number) < len(kinds) && f.Kind == kinds[f.Number]
}

// The types of the fields of LogRecord and AnyValue, by number. No field is a group.
var (
	recordKinds = []protowire.Type{
		1: protowire.Fixed64Type, 2: protowire.VarintType, 3: protowire.BytesType, 4: protowire.EndGroupType,
		5: protowire.BytesType, 6: protowire.BytesType, 7: protowire.EndGroupType, 8: protowire.Fixed32Type,
		9: protowire.BytesType, 10: protowire.BytesType, 11: protowire.Fixed64Type, 12: protowire.BytesType,
	}
	valueKinds = []protowire.Type{
		1: protowire.BytesType, 2: protowire.VarintType, 3: protowire.VarintType, 4: protowire.Fixed64Type,
		5: protowire.BytesType, 6: protowire.BytesType, 7: protowire.BytesType,
	}
)

// reader reads the messages of a request.
type reader struct {
	scope scope
	rec   record
	each  func(r *record, err error) error
}

// readProto reads the records of an ExportLogsServiceRequest. each gets a record, or the reason why it cannot be
// read. The format is
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/collector/logs/v1/logs_service.proto
func readProto(body []byte, each func(r *record, err error) error) error {
	r := reader{each: each}
	var f field
	for {
		ok, err := next(&body, &f)
		if err != nil || !ok {
			return err
		}
		if f.IsBytes(1) {
			if err := r.resourceLogs(f.Data); err != nil {
				return err
			}
		}
	}
}

// beginResource clears the data that the records of a resource share.
func (s *scope) beginResource() {
	s.resource, s.resourceURL, s.rawResource = append(s.resource[:0], '{'), nil, nil
	s.badResource, s.foundResource = nil, nil
	s.members.empty()
}

// begin clears the data that the records of a scope share.
func (s *scope) begin() {
	s.name, s.version, s.schemaURL, s.raw, s.attributes = nil, nil, nil, nil, append(s.attributes[:0], '{')
	s.bad, s.found = nil, nil
	s.members.empty()
}

// endAttributes completes the attributes of the scope or the resource.
func (s *scope) endAttributes(object []byte) []byte {
	object, left := s.members.settle(object)
	s.repeated += left
	return append(object, '}')
}

// resourceLogs reads a message ResourceLogs. It reads the data that the records share first, wherever it is in the
// message.
func (r *reader) resourceLogs(msg []byte) error {
	s := &r.scope
	s.beginResource()
	var f field
	for rest := msg; ; {
		ok, err := next(&rest, &f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch {
		case f.IsBytes(1):
			s.rawResource = f.Data
			s.resource, s.badResource = s.appendAttributes(s.resource, f.Data, 1)
			if s.badResource == errProto { //nolint:errorlint // it is never wrapped
				return errProto
			}
		case f.IsBytes(3):
			s.resourceURL = f.Data
		}
	}
	s.resource = s.endAttributes(s.resource)
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return err
		}
		if f.IsBytes(2) {
			if err := r.scopeLogs(f.Data); err != nil {
				return err
			}
		}
	}
}

func (r *reader) scopeLogs(msg []byte) error {
	s := &r.scope
	s.begin()
	var f field
	for rest := msg; ; {
		ok, err := next(&rest, &f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch {
		case f.IsBytes(1):
			s.raw = f.Data
			if s.bad = s.read(f.Data); s.bad == errProto { //nolint:errorlint // it is never wrapped
				return errProto
			}
		case f.IsBytes(3):
			s.schemaURL = f.Data
		}
	}
	s.attributes = s.endAttributes(s.attributes)
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return err
		}
		if f.IsBytes(2) {
			err := r.rec.read(f.Data, s)
			if err == errProto { //nolint:errorlint // it is never wrapped
				return err
			}
			if err := r.each(&r.rec, cmp.Or(s.failed(), err)); err != nil {
				return err
			}
		}
	}
}

// read reads a message InstrumentationScope.
func (s *scope) read(msg []byte) error {
	var f field
	var err error
	if s.attributes, err = s.appendAttributes(s.attributes, msg, 3); err != nil {
		return err
	}
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return err
		}
		switch {
		case f.IsBytes(1):
			s.name = f.Data
		case f.IsBytes(2):
			s.version = f.Data
		}
	}
}

// read reads a message LogRecord. Its error is errProto, or the reason why the record cannot be stored.
func (r *record) read(msg []byte, s *scope) error {
	r.reset(s)
	r.raw = msg
	var f field
	var eventName []byte
	for {
		ok, err := next(&msg, &f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if !f.is(recordKinds) {
			continue
		}
		switch f.Number {
		case 1:
			r.time = f.Bits
		case 2:
			r.severity = int64(int32(f.Bits)) //nolint:gosec // it is how protobuf writes an enum
		case 3:
			r.severityText = f.Data
		case 5:
			r.body, err = r.readBody(f.Data)
		case 6:
			r.attributes, err = r.members.append(r.attributes, f.Data)
			if len(r.attributes) > maxAttributes {
				return errLong
			}
		case 8:
			r.flags = f.Bits
		case 9:
			r.traceID = appendHex(r.traceID[:0], f.Data)
		case 10:
			r.spanID = appendHex(r.spanID[:0], f.Data)
		case 11:
			r.observed = f.Bits
		case 12:
			eventName = f.Data
		}
		if err != nil {
			return err
		}
	}
	r.end(eventName)
	return nil
}

// appendAttributes appends the KeyValues of a message, which are its fields with the given number, as members of an
// object.
func (s *scope) appendAttributes(to, msg []byte, number protowire.Number) ([]byte, error) {
	var f field
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return to, err
		}
		if f.IsBytes(number) {
			if to, err = s.members.append(to, f.Data); err != nil {
				return to, err
			}
			if len(to) > maxAttributes {
				return to, errLong
			}
		}
	}
}

// append appends a KeyValue as a member of the object, and records it.
func (m *members) append(object, msg []byte) ([]byte, error) {
	if object, ok := m.repeat(object, msg); ok {
		return object, nil
	}
	key, value, err := readKeyValue(msg)
	if err != nil {
		return object, err
	}
	m.note(key, object)
	if object, err = appendValue(appendKey(object, key), value, 1); err != nil {
		return object, err
	}
	m.messages, m.to = append(m.messages, msg), append(m.to, len(object))
	return object, nil
}

func readKeyValue(msg []byte) (key, value []byte, err error) {
	var f field
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return key, value, err
		}
		switch {
		case f.IsBytes(1):
			key = f.Data
		case f.IsBytes(2):
			value = f.Data
		}
	}
}

func appendKeyValue(to, msg []byte, depth int) ([]byte, error) {
	key, value, err := readKeyValue(msg)
	if err != nil {
		return to, err
	}
	return appendValue(appendKey(to, key), value, depth)
}

// readBody returns an AnyValue as the text of a body: a string unchanged and in place, bytes in base64, and other
// values as JSON.
func (r *record) readBody(msg []byte) (text []byte, err error) {
	var f field
	rest := msg
	if ok, err := next(&rest, &f); err != nil || !ok {
		return nil, err
	}
	if len(rest) == 0 && f.IsBytes(1) {
		return f.Data, nil
	}
	if len(rest) == 0 && f.IsBytes(7) {
		r.bodyText = appendBase64(r.bodyText[:0], f.Data)
	} else {
		r.bodyText, err = appendValue(r.bodyText[:0], msg, 1)
	}
	return r.bodyText, err
}

// appendValue appends an AnyValue as JSON. If a field is repeated, the last one counts, as usual in protobuf.
func appendValue(to, msg []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return to, errDepth
	}
	from := len(to)
	var f field
	for {
		ok, err := next(&msg, &f)
		if err != nil {
			return to, err
		}
		if !ok {
			if len(to) == from {
				to = append(to, "null"...)
			}
			return to, nil
		}
		if !f.is(valueKinds) {
			continue
		}
		to = to[:from]
		switch f.Number {
		case 1:
			to = jsonscan.AppendQuotedBytes(to, f.Data)
		case 2:
			to = strconv.AppendBool(to, f.Bits != 0)
		case 3:
			to = strconv.AppendInt(to, int64(f.Bits), 10) //nolint:gosec // it is how protobuf writes an int64
		case 4:
			to = jsonscan.AppendNumber(to, math.Float64frombits(f.Bits))
		case 5:
			to, err = appendList(to, f.Data, depth, '[', ']', appendElement)
		case 6:
			to, err = appendList(to, f.Data, depth, '{', '}', appendKeyValue)
		case 7:
			to = append(appendBase64(append(to, '"'), f.Data), '"')
		}
		if err != nil {
			return to, err
		}
	}
}

func appendElement(to, msg []byte, depth int) ([]byte, error) {
	if to[len(to)-1] != '[' {
		to = append(to, ',')
	}
	return appendValue(to, msg, depth)
}

// appendList appends the values of an ArrayValue or a KeyValueList.
func appendList(to, msg []byte, depth int, open, end byte,
	each func(to, msg []byte, depth int) ([]byte, error),
) ([]byte, error) {
	to = append(to, open)
	var f field
	for {
		ok, err := next(&msg, &f)
		if err != nil {
			return to, err
		}
		if !ok {
			return append(to, end), nil
		}
		if f.IsBytes(1) {
			if to, err = each(to, f.Data, depth+1); err != nil {
				return to, err
			}
		}
	}
}
