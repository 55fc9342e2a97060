package firehose

import (
	"bytes"

	"cordwood/proto/errs"
	"cordwood/router/body"
	"cordwood/router/ingest"
	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/ingest/timefield"
	"cordwood/router/vrl/jsonscan"
)

// The fields of CloudWatch Logs events that become tags.
const (
	fieldGroup  = "logGroup"
	fieldStream = "logStream"
)

// give passes the rows of all records to a pipeline.
func (in *input) give(to *ingest.Sink) error {
	in.sink, in.n = to, 0
	w := &jsonwalk.Walker{}
	for i := range in.records {
		r := &in.records[i]
		data := in.data[r.from:r.to]
		var err error
		if r.wrong != "" {
			in.n++
			err = to.Refuse(data, errs.New(errs.InvalidArguments, "the record cannot be decoded: %s", r.wrong))
		} else {
			err = in.giveData(w, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveData passes the rows of a record, which has JSON values or lines. From the first line that is not JSON, each
// line is parsed separately, and becomes a text unless it is an object or an array.
func (in *input) giveData(w *jsonwalk.Walker, data []byte) error {
	w.Reset(data)
	for !w.AtEnd() {
		start := w.Pos()
		raw, ok := container(w)
		if !ok {
			return in.giveLines(w, data[start:])
		}
		if err := in.giveValue(raw); err != nil {
			return err
		}
	}
	return nil
}

// container reads an object or an array, and reports whether there was one.
func container(w *jsonwalk.Walker) (raw []byte, ok bool) {
	if k := w.Kind(); k != '{' && k != '[' {
		return nil, false
	}
	raw, err := w.Raw()
	return raw, err == nil
}

// giveLines passes the lines of a text.
func (in *input) giveLines(w *jsonwalk.Walker, text []byte) error {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) == 0 {
			continue
		}
		w.Reset(line)
		raw, ok := container(w)
		var err error
		if ok && w.AtEnd() {
			err = in.giveValue(raw)
		} else {
			err = in.giveText(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveText passes a line as the record {"message": line}.
func (in *input) giveText(line []byte) error {
	row := jsonscan.AppendQuotedBytes(append(in.row[:0], `{"message":`...), line)
	return in.putMore(in.appendMembers(row, in.common), len(line), in.now())
}

// giveValue passes an object, or the elements of an array. The text is valid JSON.
func (in *input) giveValue(raw []byte) error {
	w := jsonwalk.New(raw)
	if w.Kind() == '[' {
		return w.Array(func(int) error {
			element, err := w.Raw()
			if err != nil {
				return err
			}
			if element[0] != '{' {
				return in.put(append(in.row[:0], element...), in.now())
			}
			return in.giveObject(element)
		})
	}
	return in.giveObject(raw)
}

// timeFields are the fields that may have the time of a record. The first one that exists is used.
var timeFields = [...]string{"@timestamp", "timestamp", "time"}

// giveObject passes an object: a record, or data of a CloudWatch Logs subscription.
func (in *input) giveObject(raw []byte) error {
	if bytes.Contains(raw, []byte(`"logEvents"`)) {
		if g := readGroup(raw); g.kind != "" && g.events != nil {
			return in.giveGroup(&g)
		}
	}
	w := jsonwalk.New(raw)
	at, found := in.now(), len(timeFields)
	var has [maxCommon]bool
	err := w.Object(func(key []byte) error {
		for i, m := range in.common {
			if string(key) == m.name {
				has[i] = true
			}
		}
		for i, name := range timeFields {
			if i < found && string(key) == name && in.eventTime {
				nanos, ok, err := timefield.Read(w)
				if ok {
					at, found = nanos, i
				}
				return err
			}
		}
		return w.Skip()
	})
	if err != nil {
		return err
	}
	row := append(in.row[:0], raw[:len(raw)-1]...)
	for i, m := range in.common {
		if !has[i] {
			row = appendMember(row, m)
		}
	}
	return in.putMore(append(row, '}'), len(raw), at)
}

// appendMembers appends members to the current object, which is not empty, and ends it.
func (in *input) appendMembers(row []byte, members []member) []byte {
	for _, m := range members {
		row = appendMember(row, m)
	}
	return append(row, '}')
}

// appendMember appends a member to the current object.
func appendMember(row []byte, m member) []byte {
	if last := bytes.TrimRight(row, " \t\r\n"); last[len(last)-1] != '{' {
		row = append(row, ',')
	}
	row = append(jsonscan.AppendQuoted(row, m.name), ':')
	return append(row, m.value...)
}

// group is a message of a CloudWatch Logs subscription. Its events belong to one stream.
type group struct {
	kind    string
	events  []byte // an array
	members []member
}

// control is the type of the messages with which CloudWatch Logs tests a subscription.
const control = "CONTROL_MESSAGE"

// readGroup parses a group. If the object is not a group, kind or events are empty.
func readGroup(raw []byte) group {
	var g group
	w := jsonwalk.New(raw)
	// The text is valid JSON, so there are no errors.
	_ = w.Object(func(key []byte) error {
		name := string(key)
		switch {
		case name == "messageType" && w.Kind() == '"':
			text, _, err := w.String()
			g.kind = string(text)
			return err
		case name == "logEvents" && w.Kind() == '[':
			var err error
			g.events, err = w.Raw()
			return err
		}
		value, err := w.Raw()
		if len(g.members) < maxCommon {
			g.members = append(g.members, member{name, value})
		}
		return err
	})
	return g
}

// giveGroup passes a row for each event of a group, with its id, timestamp and message and the members of the
// group.
func (in *input) giveGroup(g *group) error {
	if g.kind == control {
		return nil
	}
	w := jsonwalk.New(g.events)
	return w.Array(func(int) error {
		if w.Kind() != '{' {
			element, err := w.Raw()
			if err != nil {
				return err
			}
			return in.put(append(in.row[:0], element...), in.now())
		}
		at := in.now()
		start := w.Pos()
		err := w.Object(func(key []byte) error {
			if string(key) != "timestamp" || !in.eventTime {
				return w.Skip()
			}
			nanos, ok, err := timefield.Read(w)
			if ok {
				at = nanos
			}
			return err
		})
		if err != nil {
			return err
		}
		event := w.Since(start)
		row := append(in.row[:0], event[:len(event)-1]...)
		for _, m := range g.members {
			row = appendMember(row, m)
		}
		return in.putMore(in.appendMembers(row, in.common), len(event), at)
	})
}

// now returns the arrival time of the next row. It increases, so that the rows keep their order.
func (in *input) now() int64 { return in.arrival + in.n }

// padding follows a row, so that it can be read in place.
var padding [body.Pad]byte

// putMore is like put, for a row that has more than the n bytes of its own text: members that rows share.
func (in *input) putMore(row []byte, n int, at int64) error {
	if err := in.sink.Repeat(max(0, len(row)-n)); err != nil {
		return err
	}
	return in.put(row, at)
}

// put passes a row to the pipeline.
func (in *input) put(row []byte, at int64) error {
	in.n++
	in.sink.At(at)
	in.row = append(row, padding[:]...)
	return in.sink.JSON(in.row[:len(row)])
}
