package otlp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"strconv"

	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/vrl/jsonscan"
)

var errNoLogs = errors.New(`the body has no list "resourceLogs"; send an ExportLogsServiceRequest`)

// readJSON reads the records of a JSON body, like readProto. The format is described at
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.
func readJSON(body []byte, each func(r *record, err error) error) error {
	r := reader{each: each}
	w := jsonwalk.New(body)
	count := 0
	found := false
	err := w.Object(func(key []byte) error {
		count++
		if string(key) != "resourceLogs" {
			return w.Skip()
		}
		found = true
		return w.Array(func(int) error {
			raw, err := w.Raw()
			if err != nil {
				return err
			}
			return r.resourceLogsJSON(raw)
		})
	})
	switch {
	case err != nil:
		return err
	case !w.AtEnd():
		return errors.New("there is text after the JSON object")
	case !found && count > 0:
		return errNoLogs
	}
	return nil
}

// eachMember reads the members of an object.
func eachMember(raw []byte, each func(w *jsonwalk.Walker, key string) error) error {
	w := jsonwalk.New(raw)
	return w.Object(func(key []byte) error { return each(w, string(key)) })
}

func (r *reader) resourceLogsJSON(raw []byte) error {
	s := &r.scope
	s.beginResource()
	var logs []byte
	err := eachMember(raw, func(w *jsonwalk.Walker, key string) (err error) {
		switch {
		case key == "resource" && w.Kind() == '{':
			from := w.Pos()
			defer func() { s.rawResource = raw[from:w.Pos()] }()
			return w.Object(func(key []byte) error {
				if string(key) == "attributes" {
					s.resource, s.badResource, err = s.attributesJSON(s.resource, w)
					return err
				}
				return w.Skip()
			})
		case key == "schemaUrl" && w.Kind() == '"':
			s.resourceURL, err = ownString(w)
			return err
		case key == "scopeLogs":
			logs, err = w.Raw()
			return err
		}
		return w.Skip()
	})
	s.resource = s.endAttributes(s.resource)
	if err != nil || logs == nil || string(logs) == "null" {
		return err
	}
	w := jsonwalk.New(logs)
	return w.Array(func(int) error {
		raw, err := w.Raw()
		if err != nil {
			return err
		}
		return r.scopeLogsJSON(raw)
	})
}

func (r *reader) scopeLogsJSON(raw []byte) error {
	s := &r.scope
	s.begin()
	var records []byte
	err := eachMember(raw, func(w *jsonwalk.Walker, key string) (err error) {
		switch {
		case key == "scope" && w.Kind() == '{':
			from := w.Pos()
			defer func() { s.raw = raw[from:w.Pos()] }()
			return w.Object(func(key []byte) error {
				switch {
				case string(key) == "attributes":
					s.attributes, s.bad, err = s.attributesJSON(s.attributes, w)
				case string(key) == "name" && w.Kind() == '"':
					s.name, err = ownString(w)
				case string(key) == "version" && w.Kind() == '"':
					s.version, err = ownString(w)
				default:
					err = w.Skip()
				}
				return err
			})
		case key == "schemaUrl" && w.Kind() == '"':
			s.schemaURL, err = ownString(w)
			return err
		case key == "logRecords":
			records, err = w.Raw()
			return err
		}
		return w.Skip()
	})
	s.attributes = s.endAttributes(s.attributes)
	if err != nil || records == nil || string(records) == "null" {
		return err
	}
	w := jsonwalk.New(records)
	return w.Array(func(int) error {
		raw, err := w.Raw()
		if err != nil {
			return err
		}
		err = r.rec.readJSON(raw, s)
		return r.each(&r.rec, cmp.Or(s.failed(), err))
	})
}

// attributesJSON appends the attributes of the scope or the resource. bad is the reason why its records cannot be
// stored. err is the error if the text is malformed.
func (s *scope) attributesJSON(to []byte, w *jsonwalk.Walker) (out []byte, bad, err error) {
	raw, err := w.Raw()
	if err != nil {
		return to, nil, err
	}
	out, bad = appendAttributesJSON(to, jsonwalk.New(raw), 1, &s.members)
	return out, bad, nil
}

// ownString reads a string and returns a copy.
func ownString(w *jsonwalk.Walker) ([]byte, error) {
	text, _, err := w.String()
	return bytes.Clone(text), err
}

// fieldError returns the reason why a JSON record cannot be read.
func fieldError(key, want string) error { return errors.New(key + " is " + want) }

// readJSON reads a log record in valid JSON. Its error is the reason why the record cannot be stored.
func (r *record) readJSON(raw []byte, s *scope) error {
	r.reset(s)
	r.raw = raw
	var eventName []byte
	if raw[0] != '{' {
		return errors.New("the record is not an object")
	}
	err := eachMember(raw, func(w *jsonwalk.Walker, key string) (err error) {
		if w.Null() {
			return nil
		}
		switch key {
		case "timeUnixNano":
			r.time, err = readUint(w, key)
		case "observedTimeUnixNano":
			r.observed, err = readUint(w, key)
		case "severityNumber":
			text, err := scalar(w)
			n, ok := severityOf(string(text))
			if r.severity = n; err == nil && !ok {
				err = fieldError(key, "not the number of a severity")
			}
			return err
		case "severityText":
			if r.severityText, _, err = w.String(); err == nil {
				r.severityText = bytes.Clone(r.severityText)
			}
		case "body":
			r.bodyText, err = appendBodyJSON(r.bodyText[:0], w)
			r.body = r.bodyText
		case "attributes":
			r.attributes, err = appendAttributesJSON(r.attributes, w, 1, &r.members)
		case "flags":
			r.flags, err = readUint(w, key)
		case "traceId":
			r.traceID, err = readHex(r.traceID[:0], w, key)
		case "spanId":
			r.spanID, err = readHex(r.spanID[:0], w, key)
		case "eventName":
			eventName, err = ownString(w)
		default:
			err = w.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	r.end(eventName)
	return nil
}

// scalar reads a string or a number as text.
func scalar(w *jsonwalk.Walker) ([]byte, error) {
	if w.Kind() == '"' {
		text, _, err := w.String()
		return text, err
	}
	return w.Raw()
}

// readUint reads an unsigned integer, which may be in quotes.
func readUint(w *jsonwalk.Walker, key string) (uint64, error) {
	text, err := scalar(w)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, fieldError(key, "not an unsigned integer of 64 bits")
	}
	return n, nil
}

// readHex reads hexadecimal digits and converts them to lower case.
func readHex(to []byte, w *jsonwalk.Walker, key string) ([]byte, error) {
	text, _, err := w.String()
	if err != nil {
		return to, err
	}
	raw, err := hex.DecodeString(string(text))
	if err != nil {
		return to, fieldError(key, "not a text of hexadecimal digits")
	}
	return appendHex(to, raw), nil
}

// appendAttributesJSON appends a list of KeyValues as members of an object. If m is not nil, it records them.
func appendAttributesJSON(to []byte, w *jsonwalk.Walker, depth int, m *members) ([]byte, error) {
	if w.Null() {
		return to, nil
	}
	err := w.Array(func(int) error {
		var key, value []byte
		err := w.Object(func(name []byte) (err error) {
			switch {
			case string(name) == "key":
				key, err = ownString(w)
			case string(name) == "value":
				value, err = w.Raw()
			default:
				err = w.Skip()
			}
			return err
		})
		if err != nil {
			return err
		}
		if m != nil {
			m.note(key, to)
		}
		to = appendKey(to, key)
		if value == nil {
			to = append(to, "null"...)
			return nil
		}
		to, err = appendValueJSON(to, jsonwalk.New(value), depth)
		if err == nil && len(to) > maxAttributes {
			err = errLong
		}
		return err
	})
	return to, err
}

// appendBodyJSON appends a body in JSON.
func appendBodyJSON(to []byte, w *jsonwalk.Walker) ([]byte, error) {
	raw, err := w.Raw()
	if err != nil {
		return to, err
	}
	from := len(to)
	if to, err = appendValueJSON(to, jsonwalk.New(raw), 1); err != nil {
		return to, err
	}
	switch text := to[from:]; {
	case string(text) == "null":
		return to[:from], nil
	case text[0] == '"':
		plain, _, err := jsonwalk.New(bytes.Clone(text)).String()
		return append(to[:from], plain...), err
	}
	return to, nil
}

// appendValueJSON appends the value of an AnyValue in JSON.
func appendValueJSON(to []byte, w *jsonwalk.Walker, depth int) ([]byte, error) {
	if depth > maxDepth {
		return to, errDepth
	}
	if w.Null() {
		return append(to, "null"...), nil
	}
	from := len(to)
	err := w.Object(func(key []byte) (err error) {
		if w.Null() {
			return nil
		}
		to = to[:from]
		switch string(key) {
		case "stringValue":
			text, _, err := w.String()
			to = jsonscan.AppendQuotedBytes(to, text)
			return err
		case "boolValue":
			raw, err := w.Raw()
			if string(raw) != "true" && string(raw) != "false" {
				return fieldError("boolValue", "not true or false")
			}
			to = append(to, raw...)
			return err
		case "intValue":
			text, err := scalar(w)
			if err != nil {
				return err
			}
			n, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return fieldError("intValue", "not an integer of 64 bits")
			}
			to = strconv.AppendInt(to, n, 10)
		case "doubleValue":
			text, err := scalar(w)
			if err != nil {
				return err
			}
			f, err := strconv.ParseFloat(string(text), 64)
			if err != nil && !math.IsInf(f, 0) {
				return fieldError("doubleValue", "no number")
			}
			to = jsonscan.AppendNumber(to, f)
		case "arrayValue":
			to, err = appendValuesJSON(append(to, '['), w, depth)
			to = append(to, ']')
			return err
		case "kvlistValue":
			to = append(to, '{')
			err = w.Object(func(key []byte) error {
				if string(key) != "values" {
					return w.Skip()
				}
				to, err = appendAttributesJSON(to, w, depth+1, nil)
				return err
			})
			to = append(to, '}')
			return err
		case "bytesValue":
			text, _, err := w.String()
			if _, bad := base64.StdEncoding.DecodeString(string(text)); err == nil && bad != nil {
				return fieldError("bytesValue", "no base64")
			}
			to = jsonscan.AppendQuotedBytes(to, text)
			return err
		default:
			return w.Skip()
		}
		return nil
	})
	if err == nil && len(to) == from {
		to = append(to, "null"...)
	}
	return to, err
}

// appendValuesJSON appends the values of an ArrayValue.
func appendValuesJSON(to []byte, w *jsonwalk.Walker, depth int) ([]byte, error) {
	err := w.Object(func(key []byte) error {
		if string(key) != "values" {
			return w.Skip()
		}
		if w.Null() {
			return nil
		}
		return w.Array(func(i int) error {
			if i > 0 {
				to = append(to, ',')
			}
			raw, err := w.Raw()
			if err != nil {
				return err
			}
			to, err = appendValueJSON(to, jsonwalk.New(raw), depth+1)
			return err
		})
	})
	return to, err
}
