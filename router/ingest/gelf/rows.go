package gelf

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// layout has the columns of messages without a pipeline.
var layout = &pipeline.Layout{Columns: []schema.Column{
	{Name: "host", Type: schema.String, Semantic: schema.Tag},
	{Name: "level", Type: schema.Int32, Semantic: schema.Field},
	{
		Name: "message", Type: schema.String, Semantic: schema.Field,
		Index: &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)},
	},
	{Name: "full_message", Type: schema.String, Semantic: schema.Field},
}}

// columnLevel is the index of the column level in layout.
const columnLevel = 1

// timeField is the field for the time in a record for a pipeline.
const timeField = pipeline.DefaultTimestampColumn

// message is a message as received.
type message struct {
	data []byte
	from string
	at   int64
}

// messageBytes is the approximate memory of a message without its data.
const messageBytes = 48

// input has the messages of a batch. It may be read more than once.
type input struct {
	messages []message
	at       *message // the current message of fill
	// repeated is how many keys occurred more than once.
	repeated int
}

func (in *input) input(pipelined bool) ingest.Input {
	if pipelined {
		return ingest.Records(in.give)
	}
	return ingest.Columns{Layout: layout, Fill: in.fill, Text: in.text}
}

var errNoObject = errs.New(errs.InvalidArguments, "a GELF message is a JSON object")

// fields returns the fields of a message by column name, each once and in no order, and its time.
func (m *message) fields(repeated *int) ([]value.Field, int64, error) {
	text := unsafe.String(unsafe.SliceData(m.data), len(m.data))
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	v, err := value.ParseJSON(text, value.JSONOptions{Exact: true, Repeated: repeated})
	if err != nil {
		return nil, 0, errs.New(errs.InvalidArguments, "the message is not JSON: %v", err)
	}
	if v.Kind() != value.Object {
		return nil, 0, errNoObject
	}
	o := v.Object()
	nanos := m.at
	host := false
	out := make([]value.Field, 0, o.Len()+1)
	for _, f := range o.Peek() {
		switch f.Key {
		case "version":
			continue
		case "timestamp":
			if ns, ok := moment(f.Value); ok {
				nanos = ns
				continue
			}
		case "host":
			host = true
		}
		if f.Value.IsNull() {
			continue
		}
		f.Key = columnName(o, f.Key)
		out = append(out, f)
	}
	if !host {
		out = append(out, value.Field{Key: "host", Value: value.NewString(m.from)})
	}
	return out, nanos, nil
}

// columnName returns the name of a field's column. The underscore of an additional field is removed, unless another
// field has the resulting name.
func columnName(o *value.Fields, key string) string {
	if key == "short_message" {
		return "message"
	}
	name, additional := strings.CutPrefix(key, "_")
	if !additional || name == "" {
		if key == "message" || key == timeField {
			return "_" + key
		}
		return key
	}
	switch name {
	case "host", "level", "message", "full_message", "short_message", "version", "timestamp", timeField:
		return key
	}
	if _, taken := o.PeekGet(name); taken {
		return key
	}
	return name
}

// moment converts a time in seconds since 1970, with microsecond precision.
func moment(v value.Value) (int64, bool) {
	f, ok := v.Number()
	if v.IsString() {
		var err error
		f, err = strconv.ParseFloat(v.Str(), 64)
		ok = err == nil
	}
	if !ok {
		return 0, false
	}
	const most = 1<<63/1_000_000_000 - 1
	if !(f > -most && f < most) {
		return 0, false
	}
	return time.UnixMicro(int64(math.Round(f * 1e6))).UnixNano(), true
}

// fill puts the messages into columns.
func (in *input) fill(to *pipeline.Direct) error {
	var json []byte
	in.repeated = 0
	for i := range in.messages {
		in.at = &in.messages[i]
		fields, nanos, err := in.at.fields(&in.repeated)
		if err != nil {
			if err := to.Drop(err); err != nil {
				return err
			}
			continue
		}
		to.Time(nanos)
		for _, f := range fields {
			json = put(to, f, json[:0])
		}
		if err := to.End(); err != nil {
			return err
		}
	}
	return nil
}

// put puts a field into its column. json is a buffer for its text.
func put(to *pipeline.Direct, f value.Field, json []byte) []byte {
	v := f.Value
	for i := range layout.Columns {
		if layout.Columns[i].Name != f.Key {
			continue
		}
		if i == columnLevel {
			return putLevel(to, v, json)
		}
		if !v.IsString() {
			json = value.AppendJSON(json, v) // its column contains text
			to.Text(i, json)
			return json
		}
		putText(to, i, v.Str())
		return json
	}
	column := func(t schema.Type) int {
		return to.Column(schema.Column{Name: f.Key, Type: t, Semantic: schema.Field})
	}
	switch v.Kind() {
	case value.String:
		putText(to, column(schema.String), v.Str())
	case value.Int:
		to.Int(column(schema.Int64), v.Int())
	case value.Float:
		to.Float(column(schema.Float64), v.Float())
	case value.Bool:
		to.Bool(column(schema.Boolean), v.Bool())
	default:
		json = value.AppendJSON(json, v)
		to.JSON(column(schema.JSON), json)
	}
	return json
}

func putText(to *pipeline.Direct, column int, s string) {
	to.Text(column, unsafe.Slice(unsafe.StringData(s), len(s)))
}

// columnLevelName is the column for levels that are not syslog numbers.
const columnLevelName = "level_name"

// putLevel puts a level. The format has a syslog number, but some senders use a name or a word of their own.
func putLevel(to *pipeline.Direct, v value.Value, json []byte) []byte {
	const most = 1 << 31
	switch {
	case v.Kind() == value.Int && v.Int() >= -most && v.Int() < most:
		to.Int(columnLevel, v.Int())
		return json
	case v.Kind() == value.Float && v.Float() == math.Trunc(v.Float()) && math.Abs(v.Float()) < most:
		to.Int(columnLevel, int64(v.Float()))
		return json
	case v.IsString():
		n, err := strconv.ParseInt(v.Str(), 10, 32)
		if err == nil {
			to.Int(columnLevel, n)
			return json
		}
		if n, ok := levels[strings.ToLower(v.Str())]; ok {
			to.Int(columnLevel, n)
		}
		putText(to, to.Column(schema.Column{Name: columnLevelName, Type: schema.String, Semantic: schema.Field}), v.Str())
		return json
	}
	json = value.AppendJSON(json, v)
	to.Text(to.Column(schema.Column{Name: columnLevelName, Type: schema.String, Semantic: schema.Field}), json)
	return json
}

// levels has the numbers of level names.
var levels = map[string]int64{
	"emerg": 0, "emergency": 0, "panic": 0, "alert": 1, "crit": 2, "critical": 2, "fatal": 2, "err": 3, "error": 3,
	"warn": 4, "warning": 4, "notice": 5, "info": 6, "informational": 6, "information": 6, "debug": 7, "trace": 7,
}

// text returns the current message of fill, for the rejects.
func (in *input) text() []byte {
	return append(jsonscan.AppendQuotedBytes([]byte(`{"raw":`), in.at.data), '}')
}

// give passes the messages to a pipeline.
func (in *input) give(to *ingest.Sink) error {
	in.repeated = 0
	for i := range in.messages {
		m := &in.messages[i]
		fields, nanos, err := m.fields(&in.repeated)
		if err != nil {
			if err := to.Refuse(m.data, err); err != nil {
				return err
			}
			continue
		}
		o := value.MakeFields(len(fields) + 1)
		o.Add(timeField, value.NewUnixNano(nanos))
		for _, f := range fields {
			o.Add(f.Key, f.Value)
		}
		o.Sort()
		to.At(nanos)
		if err := to.Record(o.Value(), len(m.data)); err != nil {
			return err
		}
	}
	return nil
}
