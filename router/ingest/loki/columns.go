package loki

import (
	"bytes"
	"math/big"
	"unicode/utf8"

	"cordwood/proto/schema"
	"cordwood/router/ingest"
	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/ingest/protowalk"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// layout has the columns of entries without a pipeline, besides the columns of their labels.
var layout = &pipeline.Layout{Columns: []schema.Column{
	{Name: "line", Type: schema.String, Semantic: schema.Field},
	{Name: "structured_metadata", Type: schema.JSON, Semantic: schema.Field},
}}

// The numbers of the columns of layout.
const (
	columnLine = iota
	columnMetadata
)

// labelsColumn is the column for labels if they are kept together.
var labelsColumn = schema.Column{Name: "labels", Type: schema.JSON, Semantic: schema.Field}

// fill puts the entries into columns.
func (p *push) fill(to *pipeline.Direct) error {
	var w jsonwalk.Walker
	var e entry
	var buf []byte
	columns := labelColumns{to: to, timeName: to.TimeName()}
	to.Expect(columnLine, len(p.body))
	if !p.json {
		to.CutFrom(columnLine, p.block, p.body)
	}
	return p.streams(func(s *stream) error {
		refused := checkLabels(&s.labels)
		if refused == nil { // refused entries create no columns
			p.repeated += columns.begin(s.labels.list, p.labelsInJSON)
		}
		p.stream, p.at = s, &e
		bad := func(text []byte) error {
			p.bad = text
			return to.Drop(errEntry)
		}
		return p.entries(s, &w, &e, func() error {
			p.bad = nil
			switch {
			case refused != nil:
				return to.Drop(refused)
			case e.outOfRange:
				return to.Drop(errTime)
			case e.metadata.n > maxMetadata:
				return to.Drop(errMetadata)
			}
			to.Time(e.nanos)
			to.Text(columnLine, e.line)
			repeated := 0
			buf, repeated = appendObject(buf[:0], e.metadata.list)
			p.repeated += repeated
			to.JSON(columnMetadata, buf)
			columns.put()
			return to.End()
		}, bad)
	})
}

// text returns a request with only the current entry of fill, for the rejects.
func (p *push) text() []byte {
	out := p.appendLabels([]byte(`{"streams":[{"stream":`))
	out = append(out, `,"values":[`...)
	switch e := p.at; {
	case p.bad != nil:
		out = append(out, p.bad...)
	case p.json:
		out = append(out, e.raw...)
	default:
		out = append(out, '[', '"')
		at := big.NewInt(e.seconds)
		at.Mul(at, big.NewInt(1_000_000_000)).Add(at, big.NewInt(e.fraction))
		out = at.Append(out, 10)
		out = jsonscan.AppendQuotedBytes(append(out, '"', ','), e.line)
		out = append(e.appendMetadata(out), ']')
	}
	return append(out, `]}]}`...)
}

// appendLabels appends all labels of the stream in their original form, as a JSON object.
func (p *push) appendLabels(to []byte) []byte {
	switch {
	case len(p.stream.labelText) == 0 || p.stream.badLabels:
		return append(to, "{}"...)
	case p.json:
		return append(to, p.stream.labelText...)
	}
	to = append(to, '{')
	_ = parseLabels(p.stream.labelText, func(l pair) { to = appendMember(to, l) }) // it was valid before
	return append(to, '}')
}

// appendMetadata appends all metadata of an entry in protobuf form as a JSON object after a comma.
func (e *entry) appendMetadata(to []byte) []byte {
	if e.metadata.n == 0 {
		return to
	}
	to = append(to, ',', '{')
	msg := e.raw // it was valid before
	var f protowalk.Field
	for ok, _ := next(&msg, &f); ok; ok, _ = next(&msg, &f) {
		if f.IsBytes(3) {
			p, _ := readPair(f.Data)
			to = appendMember(to, p)
		}
	}
	return append(to, '}')
}

// labelColumns puts the labels of a stream into their columns.
type labelColumns struct {
	to       *pipeline.Direct
	timeName string
	tags     int
	known    map[string]int
	at       []int
	values   [][]byte
	json     []byte
	inJSON   bool
	jsonAt   int
}

// begin finds the columns for a stream's labels. It returns how many labels are left out because their names are
// repeated.
func (c *labelColumns) begin(labels []pair, inJSON bool) (left int) {
	c.at, c.values, c.inJSON = c.at[:0], c.values[:0], inJSON
	if inJSON {
		c.jsonAt = c.to.Column(labelsColumn)
		c.json, left = appendObject(c.json[:0], labels)
		return left
	}
	for _, l := range labels {
		at, ok := c.known[string(l.name)]
		if !ok {
			at = c.column(l.name)
		}
		c.at, c.values = append(c.at, at), append(c.values, l.value)
	}
	return 0
}

// column finds the column for a label that is new in the request.
func (c *labelColumns) column(name []byte) int {
	col := schema.Column{
		Name:     string(bytes.ToValidUTF8(name, []byte("\uFFFD"))),
		Type:     schema.String,
		Semantic: schema.Tag,
	}
	switch col.Name {
	case layout.Columns[columnLine].Name, layout.Columns[columnMetadata].Name, c.timeName:
		col.Name = "label_" + col.Name
	}
	if c.to.NewTable() {
		if c.tags++; c.tags > maxTags {
			col.Semantic = schema.Field
		}
	}
	at := c.to.Column(col)
	if c.known == nil {
		c.known = map[string]int{}
	}
	c.known[string(name)] = at
	return at
}

// put puts the labels into the current row.
func (c *labelColumns) put() {
	if c.inJSON {
		c.to.JSON(c.jsonAt, c.json)
		return
	}
	for i, at := range c.at {
		c.to.Text(at, c.values[i])
	}
}

// appendObject appends pairs as a JSON object. If a name is repeated, the last pair counts. It returns how many
// pairs are left out.
func appendObject(to []byte, list []pair) (out []byte, left int) {
	to = append(to, '{')
	for i, p := range list {
		if repeated(list[i+1:], p.name) {
			left++
		} else {
			to = appendMember(to, p)
		}
	}
	return append(to, '}'), left
}

// appendMember appends a pair as a member of the object at the end of to.
func appendMember(to []byte, p pair) []byte {
	if to[len(to)-1] != '{' {
		to = append(to, ',')
	}
	to = append(jsonscan.AppendQuotedBytes(to, p.name), ':')
	return jsonscan.AppendQuotedBytes(to, p.value)
}

// repeated reports whether a later pair has the name. There are few pairs (maxLabels, maxMetadata).
func repeated(pairs []pair, name []byte) bool {
	for _, p := range pairs {
		if bytes.Equal(p.name, name) {
			return true
		}
	}
	return false
}

// records passes the entries to a pipeline.
func (p *push) records(to *ingest.Sink) error {
	var w jsonwalk.Walker
	var e entry
	return p.streams(func(s *stream) error {
		refused := checkLabels(&s.labels)
		bad := func(text []byte) error { return to.Refuse(text, errEntry) }
		return p.entries(s, &w, &e, func() error {
			switch {
			case refused != nil:
				return to.Refuse(e.line, refused)
			case e.outOfRange:
				return to.Refuse(e.line, errTime)
			case e.metadata.n > maxMetadata:
				return to.Refuse(e.line, errMetadata)
			}
			size := len(e.line)
			o := value.MakeFields(2 + s.labels.n + e.metadata.n)
			o.Add("svc_timestamp", value.NewUnixNano(e.nanos))
			o.Add("loki_line", textValue(e.line))
			for i, l := range s.labels.list {
				p.note(s.labels.list[i+1:], l.name)
				o.Set("loki_label_"+string(l.name), textValue(l.value))
				size += len(l.name) + len(l.value)
			}
			for i, m := range e.metadata.list {
				p.note(e.metadata.list[i+1:], m.name)
				o.Set("loki_metadata_"+string(m.name), textValue(m.value))
				size += len(m.name) + len(m.value)
			}
			o.Sort()
			to.At(e.nanos)
			return to.Record(o.Value(), size)
		}, bad)
	})
}

// note counts a name that is repeated.
func (p *push) note(rest []pair, name []byte) {
	if repeated(rest, name) {
		p.repeated++
	}
}

// textValue returns a text of the body as a value in valid UTF-8.
func textValue(b []byte) value.Value {
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return value.NewString(string(b))
}
