package elasticsearch

import (
	"bytes"
	"errors"

	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/ingest/timefield"
	"cordwood/router/vrl/jsonscan"
)

// timestampKey is what a document with a time has in it. A search for its first byte stops at few others.
var timestampKey = []byte(`@timestamp"`)

// errFound ends the walk through a document.
var errFound = errors.New("found")

// timeOf returns the time that a document has as @timestamp, in nanoseconds since 1970.
func timeOf(document []byte) (nanos int64, ok bool) {
	if !bytes.Contains(document, timestampKey) {
		return 0, false
	}
	w := jsonwalk.New(document)
	// What is no JSON is refused by the pipeline.
	_ = w.Object(func(key []byte) error {
		if string(key) != "@timestamp" {
			return w.Skip()
		}
		var err error
		if nanos, ok, err = timefield.Read(w); ok && err == nil {
			return errFound
		}
		return err
	})
	return nanos, ok
}

// inner returns what a document has under a field: the JSON object that its text is, else an object with that
// text alone, and what is no text as it is; the document itself if it has no such field.
func inner(document []byte, field string) []byte {
	var out []byte
	w := jsonwalk.New(document)
	err := w.Object(func(key []byte) error {
		if out != nil || string(key) != field {
			return w.Skip()
		}
		if w.Kind() != '"' {
			raw, err := w.Raw()
			out = append(bytes.Clone(raw), '\n')
			return err
		}
		text, _, err := w.String()
		if err != nil {
			return err
		}
		if in := jsonwalk.New(bytes.Clone(text)); len(text) > 0 && in.Kind() == '{' && in.Skip() == nil && in.AtEnd() {
			out = append(bytes.Clone(text), '\n')
			return nil
		}
		out = jsonscan.AppendQuoted([]byte{'{'}, field)
		out = jsonscan.AppendQuotedBytes(append(out, ':'), text)
		out = append(out, '}', '\n')
		return nil
	})
	if err != nil || out == nil {
		return document
	}
	return out[:len(out)-1]
}

// withID returns a document with a field in which its _id is. A field of that name of its own does not count: of
// several the last does. What is no JSON object stays, and is refused by the pipeline.
func withID(document []byte, column string, id []byte) []byte {
	last := len(document) - 1
	if last < 1 || document[0] != '{' || document[last] != '}' {
		return document
	}
	out := make([]byte, 0, len(document)+len(column)+2*len(id)+8)
	out = append(out, document[:last]...)
	if len(bytes.TrimSpace(document[1:last])) > 0 {
		out = append(out, ',')
	}
	out = append(jsonscan.AppendQuoted(out, column), ':')
	out = jsonscan.AppendQuotedBytes(out, bytes.ToValidUTF8(id, []byte("\uFFFD")))
	return append(out, '}', '\n')[:len(out)+1]
}

// withoutDate cuts the date or number off the end of an index: logs-2026.11.22, logs-2026-11-22, logs-2026.11,
// logs-000001.
func withoutDate(index string) string {
	for _, form := range []string{"-0000.00.00", "-0000-00-00", "-0000.00", "-000000"} {
		if n := len(index) - len(form); n > 0 && isForm(index[n:], form) {
			return index[:n]
		}
	}
	return index
}

// isForm reports whether a text has digits where form has 0, and else the same characters.
func isForm(text, form string) bool {
	for i := range len(form) {
		if c := text[i]; form[i] == '0' && (c < '0' || c > '9') || form[i] != '0' && c != form[i] {
			return false
		}
	}
	return true
}
