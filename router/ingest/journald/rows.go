package journald

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"unicode/utf8"

	"cordwood/proto/schema"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// The fields of an entry with its position and time.
const (
	fieldCursor = "__CURSOR"
	fieldTime   = "__REALTIME_TIMESTAMP"
)

// layout has the columns of entries.
var layout = &pipeline.Layout{Columns: []schema.Column{
	{Name: "hostname", Type: schema.String, Semantic: schema.Tag},
	{Name: "syslog_identifier", Type: schema.String, Semantic: schema.Tag},
	{Name: "priority", Type: schema.Int32, Semantic: schema.Field},
	{
		Name: "message", Type: schema.String, Semantic: schema.Field,
		Index: &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)},
	},
	{Name: "pid", Type: schema.Int64, Semantic: schema.Field},
	{Name: "uid", Type: schema.Int64, Semantic: schema.Field},
	{Name: "systemd_unit", Type: schema.String, Semantic: schema.Field},
	{Name: "comm", Type: schema.String, Semantic: schema.Field},
	{Name: "transport", Type: schema.String, Semantic: schema.Field},
	{Name: "boot_id", Type: schema.String, Semantic: schema.Field},
	{Name: columnCursor, Type: schema.String, Semantic: schema.Field},
	{Name: columnFields, Type: schema.JSON, Semantic: schema.Field},
}}

const (
	columnCursor = "cursor"
	columnFields = "fields"
	// fieldsAt is the index of the column fields.
	fieldsAt = 11
)

// columnOf has the column of the layout for each field. All other fields go into the column fields.
var columnOf = map[string]int{
	"_HOSTNAME": 0, "SYSLOG_IDENTIFIER": 1, "PRIORITY": 2, "MESSAGE": 3, "_PID": 4, "_UID": 5, "_SYSTEMD_UNIT": 6,
	"_COMM": 7, "_TRANSPORT": 8, "_BOOT_ID": 9, fieldCursor: 10,
}

// input makes rows from entries.
type input struct {
	entries []*entry
	arrival int64  // in nanoseconds since 1970, for entries without a time
	at      *entry // the current entry of fill
	rest    []field
	json    []byte
}

// columns returns the fields of an entry that have a column, by column, and the other fields.
func (in *input) columns(e *entry) (of [fieldsAt]*field, rest []field) {
	rest = in.rest[:0]
	for i := range e.fields {
		f := &e.fields[i]
		name := e.name(*f)
		if column, ok := columnOf[string(name)]; ok && of[column] == nil && fits(column, e.value(*f)) {
			of[column] = f
			continue
		}
		if e.hasTime && string(name) == fieldTime {
			continue
		}
		rest = append(rest, *f)
	}
	in.rest = rest
	return of, rest
}

// fits reports whether a column can hold a value.
func fits(column int, text []byte) bool {
	t := layout.Columns[column].Type
	if !t.IsInteger() {
		return true
	}
	bits := 64
	if t == schema.Int32 {
		bits = 32
	}
	_, err := strconv.ParseInt(string(text), 10, bits)
	return err == nil
}

func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(text), 10, 64) // it fits
	return n
}

// fill puts the entries.
func (in *input) fill(to *pipeline.Direct) error {
	for _, e := range in.entries {
		in.at = e
		if e.hasTime {
			to.Time(e.time)
		}
		columns, rest := in.columns(e)
		for i, f := range columns {
			switch {
			case f == nil:
			case layout.Columns[i].Type.IsInteger():
				to.Int(i, number(e.value(*f)))
			default:
				to.Text(i, e.value(*f))
			}
		}
		if len(rest) > 0 {
			in.json = appendFields(in.json[:0], e, rest)
			to.JSON(fieldsAt, in.json)
		}
		if err := to.End(); err != nil {
			return err
		}
	}
	return nil
}

// text returns the current entry of fill as a record.
func (in *input) text() []byte {
	columns, rest := in.columns(in.at)
	out := []byte{'{'}
	add := func(name string) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsonscan.AppendQuoted(out, name), ':')
	}
	if in.at.hasTime {
		add(fieldTime)
		out = strconv.AppendInt(out, in.at.time/1000, 10)
	}
	for i, f := range columns {
		if f == nil {
			continue
		}
		add(layout.Columns[i].Name)
		if layout.Columns[i].Type.IsInteger() {
			out = strconv.AppendInt(out, number(in.at.value(*f)), 10)
		} else {
			out = jsonscan.AppendQuotedBytes(out, valid(in.at.value(*f)))
		}
	}
	if len(rest) > 0 {
		add(columnFields)
		out = appendFields(out, in.at, rest)
	}
	return append(out, '}')
}

// give passes the entries to a pipeline: the same names as the columns, and svc_timestamp.
func (in *input) give(to *ingest.Sink) error {
	for _, e := range in.entries {
		columns, rest := in.columns(e)
		o := value.MakeFields(fieldsAt + 2)
		if e.hasTime {
			o.Add(pipeline.DefaultTimestampColumn, value.NewUnixNano(e.time))
			to.At(e.time)
		} else {
			to.At(in.arrival)
		}
		for i, f := range columns {
			switch {
			case f == nil:
			case layout.Columns[i].Type.IsInteger():
				o.Add(layout.Columns[i].Name, value.NewInt(number(e.value(*f))))
			default:
				o.Add(layout.Columns[i].Name, value.NewString(string(valid(e.value(*f)))))
			}
		}
		if len(rest) > 0 {
			v, err := value.ParseJSON(string(appendFields(nil, e, rest)), value.JSONOptions{})
			if err != nil {
				v = value.NewString(err.Error()) // never happens, because it is JSON
			}
			o.Add(columnFields, v)
		}
		o.Sort()
		if err := to.Record(o.Value(), len(e.data)); err != nil {
			return err
		}
	}
	return nil
}

// appendFields appends fields as a JSON object. Repeated fields become arrays.
func appendFields(to []byte, e *entry, list []field) []byte {
	slices.SortStableFunc(list, func(a, b field) int { return bytes.Compare(e.name(a), e.name(b)) })
	to = append(to, '{')
	for i := 0; i < len(list); {
		if i > 0 {
			to = append(to, ',')
		}
		name := e.name(list[i])
		to = append(jsonscan.AppendQuotedBytes(to, valid(name)), ':')
		n := i + 1
		for n < len(list) && bytes.Equal(e.name(list[n]), name) {
			n++
		}
		if n == i+1 {
			to = appendValue(to, e.value(list[i]))
			i = n
			continue
		}
		for first := i; i < n; i++ {
			to = append(to, "[,"[min(i-first, 1)])
			to = appendValue(to, e.value(list[i]))
		}
		to = append(to, ']')
	}
	return append(to, '}')
}

// appendValue appends a value as a JSON text. If it is not text, it becomes {"base64":"…"}.
func appendValue(to, v []byte) []byte {
	if utf8.Valid(v) {
		return jsonscan.AppendQuotedBytes(to, v)
	}
	to = append(to, `{"base64":"`...)
	to = base64.StdEncoding.AppendEncode(to, v)
	return append(to, `"}`...)
}

// valid returns a text in which bytes that are not UTF-8 are replaced by U+FFFD.
func valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}
