package splunk

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/vrl/jsonscan"
)

// event has the parsed parts of one event of a request.
type event struct {
	// from and to are the start and the end of its text in the body.
	from, to int
	nanos    int64
	timed    bool
	index    string
	// sourcetype is the event's sourcetype, which may select its pipeline.
	sourcetype string
	// next is the number of the next event with the same destination; 0 if there is none.
	next int
}

// eventBytes is the approximate memory of an event.
const eventBytes = 96

// reading is a body whose events are being read.
type reading struct {
	w      *jsonwalk.Walker
	events []event
	timed  int // number of events that have a time
	tags   map[string]bool
	// names are texts that events share.
	names map[string]string
	// reserve reserves memory, given the total size.
	reserve func(bytes int64) error
}

// name returns text as a string that events share.
func (r *reading) name(text []byte) string {
	if s, ok := r.names[string(text)]; ok {
		return s
	}
	s := string(text)
	if len(r.names) < maxTables {
		r.names[s] = s
	}
	return s
}

// add adds an event.
func (r *reading) add(e *event) error {
	if len(r.events) == cap(r.events) {
		n := max(64, 2*cap(r.events))
		if err := r.reserve(int64(n+cap(r.events)) * eventBytes); err != nil {
			return err
		}
		r.events = append(make([]event, 0, n), r.events...)
	}
	if r.events = append(r.events, *e); e.timed {
		r.timed++
	}
	return nil
}

// readEvents reads the events of a body: objects one after another, or in arrays. If the body is invalid, the error
// is an *eventError.
func (r *reading) readEvents(body []byte) error {
	r.w = jsonwalk.New(body)
	for !r.w.AtEnd() {
		var err error
		if r.w.Kind() == '[' {
			err = r.w.Array(func(int) error { return r.readEvent() })
		} else {
			err = r.readEvent()
		}
		if syntax := (*jsonscan.Error)(nil); errors.As(err, &syntax) {
			err = &eventError{codeInvalidFormat, len(r.events), err.Error()}
		}
		if err != nil {
			return err
		}
	}
	if len(r.events) == 0 {
		return &eventError{code: codeNoData, event: -1}
	}
	return nil
}

// readEvent reads an event and adds it.
func (r *reading) readEvent() error {
	w, at := r.w, len(r.events)
	e := event{from: w.Pos()}
	if err := w.Expect('{', "an event, which is an object"); err != nil {
		return err
	}
	found := false
	err := w.Object(func(key []byte) error {
		if string(key) == "event" {
			found = true
		}
		return r.readMember(&e, key)
	})
	switch {
	case err != nil:
		return err
	case !found:
		return &eventError{codeNoEvent, at, ""}
	}
	e.to = w.Pos()
	return r.add(&e)
}

// readMember reads a member of an event.
func (r *reading) readMember(e *event, key []byte) error {
	w, at := r.w, len(r.events)
	switch string(key) {
	case "event":
		raw, err := w.Raw()
		if string(raw) == "null" || string(raw) == `""` {
			return &eventError{codeBlankEvent, at, ""}
		}
		return err
	case "time":
		raw, err := w.Raw()
		if err == nil && string(raw) != "null" && !e.setTime(raw) {
			return &eventError{codeInvalidFormat, at, "its time is not a number of seconds since 1970: " + clip(raw)}
		}
		return err
	case "index":
		if w.Null() {
			return nil
		}
		text, _, err := w.String()
		if err != nil || len(text) == 0 {
			return &eventError{codeIncorrect, at, "it must be a text that is not empty"}
		}
		e.index = r.name(text)
		return nil
	case "sourcetype":
		if w.Kind() == '"' {
			text, _, err := w.String()
			e.sourcetype = r.name(text)
			return err
		}
	case "fields":
		if w.Kind() == '{' {
			return w.Object(func(key []byte) error {
				if len(r.tags) < maxTags && !r.tags[string(key)] {
					r.tags[string(key)] = true
				}
				return w.Skip()
			})
		}
	}
	return w.Skip()
}

// maxTags limits the number of fields of a request that become tags.
const maxTags = 64

func clip(text []byte) string {
	const most = 64
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most]), "") + "…"
}

// setTime reads a time: a number of seconds, possibly in quotes, or of milliseconds if it is at least 10^12. It
// reports whether the time is valid.
func (e *event) setTime(raw []byte) bool {
	text := strings.TrimSpace(strings.Trim(string(raw), `"`))
	ns, ok := parseSeconds(text)
	e.nanos, e.timed = ns, ok
	return ok
}

// parseSeconds converts a decimal number of seconds since 1970 to nanoseconds. If the number is at least 10^12, it
// is in milliseconds.
func parseSeconds(text string) (int64, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.ContainsAny(text, "eE") { // a rare form
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Abs(f) >= 1e12 {
			return 0, false
		}
		return time.UnixMicro(int64(f * 1e6)).UnixNano(), inRange(int64(f))
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.HasPrefix(fraction, "-") || strings.HasPrefix(fraction, "+") {
		return 0, false
	}
	unit := int64(time.Second)
	if n >= 1e12 {
		unit = int64(time.Millisecond)
	}
	if !inRange(n / (int64(time.Second) / unit)) {
		return 0, false
	}
	part := int64(0)
	if fraction != "" {
		digits := (fraction + "000000000")[:9]
		if part, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return 0, false
		}
		part = part * unit / int64(time.Second)
	}
	if n < 0 || strings.HasPrefix(whole, "-") {
		part = -part
	}
	return n*unit + part, true
}

// inRange reports whether the second fits into 64 bits of nanoseconds.
func inRange(seconds int64) bool {
	const most = math.MaxInt64/1_000_000_000 - 1
	return seconds > -most && seconds < most
}

// appendRecord appends the record of an event: its keys except time and index, and the members of its fields. If a
// text in fields has the same key as the event, it replaces the event's value.
func (e *event) appendRecord(to []byte, body []byte, withTime bool) []byte {
	w := jsonwalk.New(body[e.from:e.to])
	to = append(to, '{')
	first := true
	member := func(key, raw []byte) {
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(jsonscan.AppendQuotedBytes(to, key), ':')
		to = append(to, raw...)
	}
	// The text was parsed before, so there are no errors.
	_ = w.Object(func(key []byte) error {
		switch string(key) {
		case "time", "index":
			return w.Skip()
		case "fields":
			if w.Kind() != '{' {
				return w.Skip()
			}
			return w.Object(func(key []byte) error {
				name := bytes.Clone(key)
				raw, err := w.Raw()
				if string(raw) != "null" {
					member(name, asText(raw))
				}
				return err
			})
		}
		name := bytes.Clone(key)
		raw, err := w.Raw()
		if text := string(name); text == "host" || text == "source" || text == "sourcetype" {
			raw = asText(raw)
		}
		member(name, raw)
		return err
	})
	if withTime && e.timed {
		at := time.Unix(0, e.nanos).UTC().AppendFormat([]byte(`"`), time.RFC3339Nano)
		member([]byte("svc_timestamp"), append(at, '"'))
	}
	return append(to, '}')
}

// asText returns a JSON value as a JSON string, because it becomes a tag. null stays null.
func asText(raw []byte) []byte {
	if len(raw) == 0 || raw[0] == '"' || string(raw) == "null" {
		return raw
	}
	return jsonscan.AppendQuotedBytes(nil, raw)
}
