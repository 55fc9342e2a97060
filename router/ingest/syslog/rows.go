package syslog

import (
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"cordwood/proto/schema"
	"cordwood/router/ingest"
	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/logformat/syslog"
	"cordwood/router/vrl/value"
)

// layout has the columns of messages without a pipeline.
var layout = &pipeline.Layout{Columns: []schema.Column{
	{Name: "hostname", Type: schema.String, Semantic: schema.Tag},
	{Name: "appname", Type: schema.String, Semantic: schema.Tag},
	{Name: "facility", Type: schema.String, Semantic: schema.Field},
	{Name: "severity", Type: schema.String, Semantic: schema.Field},
	{Name: "priority", Type: schema.Int32, Semantic: schema.Field},
	{Name: "procid", Type: schema.String, Semantic: schema.Field},
	{Name: "msgid", Type: schema.String, Semantic: schema.Field},
	{Name: "structured_data", Type: schema.JSON, Semantic: schema.Field},
	{
		Name: "message", Type: schema.String, Semantic: schema.Field,
		Index: &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)},
	},
	{Name: "source", Type: schema.String, Semantic: schema.Field},
}}

// The numbers of the columns of layout.
const (
	columnHost = iota
	columnApp
	columnFacility
	columnSeverity
	columnPriority
	columnProc
	columnMsgID
	columnData
	columnMessage
	columnSource
)

// input has the messages of a batch. It may be read more than once.
type input struct {
	records []sockreceiver.Record
	// parser parses all formats, and old only RFC 3164.
	parser, old *syslog.Parser
	// noData is set if messages of RFC 5424 have neither structured data nor the dash for it.
	noData bool
	// at is the current message of fill.
	at   *sockreceiver.Record
	json []byte
}

// of returns the input of a batch: columns, or records for its pipeline.
func (in *input) of(pipelined bool) ingest.Input {
	if pipelined {
		return ingest.Records(in.give)
	}
	return ingest.Columns{Layout: layout, Fill: in.fill, Text: in.text}
}

// read parses a message. The texts of m point into the record.
func (in *input) read(r *sockreceiver.Record) (m syslog.Message, nanos int64) {
	text := withoutBlank(textOf(r.Data))
	if in.noData {
		text = withDash(text)
	}
	m, err := in.parser.Parse(text)
	if err != nil {
		text = withoutBlank(textOf(r.Data))
		m, err = in.old.Parse(text)
	}
	if err != nil {
		m = syslog.Message{Priority: -1, Version: -1, Text: strings.TrimRight(text, "\r\n\x00")}
	}
	if m.Host == "" {
		m.Host = r.From
	}
	nanos = r.At
	if m.HasTime && inRange(m.Time) {
		nanos = m.Time.UnixNano()
	}
	return m, nanos
}

// withoutBlank removes a space after the priority of a message, which some senders insert: <14> 2026-….
func withoutBlank(text string) string {
	const most = len("<191>")
	end := strings.IndexByte(text[:min(len(text), most)], '>')
	if end < 2 || text[0] != '<' || !strings.HasPrefix(text[end+1:], " ") {
		return text
	}
	return text[:end+1] + strings.TrimLeft(text[end+1:], " ")
}

// inRange reports whether the time fits into 64 bits of nanoseconds.
func inRange(t time.Time) bool {
	sec := t.Unix()
	const most = 1<<63/1_000_000_000 - 1
	return -most < sec && sec < most
}

// fill puts the messages into columns.
func (in *input) fill(to *pipeline.Direct) error {
	for i := range in.records {
		in.at = &in.records[i]
		m, nanos := in.read(in.at)
		to.Time(nanos)
		put(to, columnHost, m.Host)
		put(to, columnApp, m.App)
		if m.Priority >= 0 {
			put(to, columnFacility, syslog.Facility(m.Priority>>3))
			put(to, columnSeverity, syslog.Severity(m.Priority&7))
			to.Int(columnPriority, int64(m.Priority))
		}
		put(to, columnProc, m.Proc)
		put(to, columnMsgID, m.MsgID)
		if !m.Data.IsEmpty() {
			in.json = appendData(in.json[:0], m.Data)
			to.JSON(columnData, in.json)
		}
		to.Text(columnMessage, bytesOf(m.Text))
		put(to, columnSource, in.at.From)
		if err := to.End(); err != nil {
			return err
		}
	}
	return nil
}

// put puts a text into a column, unless it is missing in the message.
func put(to *pipeline.Direct, column int, text string) {
	if text != "" {
		to.Text(column, bytesOf(text))
	}
}

// text returns the current message of fill, for the rejects.
func (in *input) text() []byte {
	return append(jsonscan.AppendQuotedBytes([]byte(`{"raw":`), in.at.Data), '}')
}

// give passes the messages to a pipeline.
func (in *input) give(to *ingest.Sink) error {
	for i := range in.records {
		r := &in.records[i]
		m, nanos := in.read(r)
		o := value.MakeFields(len(layout.Columns) + 2)
		o.Add("svc_timestamp", value.NewUnixNano(nanos))
		for _, f := range [...]struct{ name, text string }{
			{"appname", m.App}, {"hostname", m.Host}, {"msgid", m.MsgID}, {"procid", m.Proc}, {"source", r.From},
		} {
			if f.text != "" {
				o.Add(f.name, textValue(f.text))
			}
		}
		o.Add("message", textValue(m.Text))
		o.Add("raw", textValue(textOf(r.Data)))
		if m.Priority >= 0 {
			o.Add("facility", value.NewString(syslog.Facility(m.Priority>>3)))
			o.Add("severity", value.NewString(syslog.Severity(m.Priority&7)))
			o.Add("priority", value.NewInt(int64(m.Priority)))
		}
		if !m.Data.IsEmpty() {
			o.Add("structured_data", dataValue(m.Data))
		}
		o.Sort()
		to.At(nanos)
		if err := to.Record(o.Value(), len(r.Data)); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns bytes as a string without copying. The bytes of a record do not change while it is used.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns the bytes of a string without copying. They must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// textValue returns a text as a value in valid UTF-8.
func textValue(s string) value.Value {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return value.NewString(s)
}
