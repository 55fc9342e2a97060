package elasticsearch

import (
	"bytes"
	"math"
	"time"

	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/vrl/jsonscan"
)

var timestampKey = []byte(`"@timestamp"`)

// timeOf returns the time that a document has as @timestamp, in nanoseconds since 1970.
func timeOf(document []byte) (nanos int64, ok bool) {
	if !bytes.Contains(document, timestampKey) {
		return 0, false
	}
	w := jsonwalk.New(document)
	// What is no JSON is refused by the pipeline.
	_ = w.Object(func(key []byte) error {
		if ok || string(key) != "@timestamp" {
			return w.Skip()
		}
		switch w.Kind() {
		case '"':
			text, _, err := w.String()
			nanos, ok = parseTime(string(text))
			return err
		case '0':
			kind, v, f, _, err := w.Number()
			if kind == jsonscan.Int {
				f = float64(v)
			}
			nanos, ok = epoch(v, f, kind == jsonscan.Int)
			return err
		}
		return w.Skip()
	})
	return nanos, ok
}

// layouts are the forms of times as texts; a time without a zone is UTC, as in Elasticsearch.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999", "2006-01-02",
}

func parseTime(text string) (int64, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixNano(), t.Year() >= 1678 && t.Year() <= 2261
		}
	}
	return 0, false
}

// epoch is a number of seconds, milliseconds, microseconds or nanoseconds since 1970, by its size.
func epoch(v int64, f float64, whole bool) (int64, bool) {
	unit := 1e9
	switch a := math.Abs(f); {
	case a >= 1e17:
		unit = 1
	case a >= 1e14:
		unit = 1e3
	case a >= 1e11:
		unit = 1e6
	}
	if f*unit > math.MaxInt64 || f*unit < math.MinInt64 || math.IsNaN(f) {
		return 0, false
	}
	if whole {
		return v * int64(unit), true
	}
	return int64(f * unit), true
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

// withoutDate cuts the date or number off the end of an index: logs-2026.11.22, logs-2026.11, logs-000001.
func withoutDate(index string) string {
	for _, form := range []string{"-0000.00.00", "-0000.00", "-000000"} {
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
