package elasticsearch

import (
	"bytes"
	"errors"

	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/ingest/timefield"
	"cordwood/router/vrl/jsonscan"
)

// timestampKey is a text that every document with a time contains. Its first byte is rare in documents, so
// searching for it is fast.
var timestampKey = []byte(`@timestamp"`)

// errFound stops the walk through a document.
var errFound = errors.New("found")

// timeOf returns the time in the field @timestamp of a document, in nanoseconds since 1970.
func timeOf(document []byte) (nanos int64, ok bool) {
	if !bytes.Contains(document, timestampKey) {
		return 0, false
	}
	w := jsonwalk.New(document)
	// If the document is not JSON, the pipeline refuses it.
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

// inner returns the record in a field of a document. If the field contains JSON text of an object, it returns that
// object. For other texts, it returns an object with the text. Other values are returned unchanged. If the field is
// missing, it returns the document.
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

// withID returns a document with its _id in a field. If the document already has a field with that name, the added
// one replaces it, because the last of equal fields counts. A text that is not a JSON object is returned unchanged,
// and the pipeline refuses it.
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

// withoutDate removes the date or number at the end of an index: logs-2026.11.22, logs-2026-11-22, logs-2026.11,
// logs-000001.
func withoutDate(index string) string {
	for _, form := range []string{"-0000.00.00", "-0000-00-00", "-0000.00", "-000000"} {
		if n := len(index) - len(form); n > 0 && isForm(index[n:], form) {
			return index[:n]
		}
	}
	return index
}

// isForm reports whether a text matches form, in which 0 stands for any digit and other characters for themselves.
func isForm(text, form string) bool {
	for i := range len(form) {
		if c := text[i]; form[i] == '0' && (c < '0' || c > '9') || form[i] != '0' && c != form[i] {
			return false
		}
	}
	return true
}
