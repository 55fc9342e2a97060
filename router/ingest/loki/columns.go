package loki

import (
	"bytes"
	"math/big"
	"unicode/utf8"

	"cordwood/proto/schema"
	"cordwood/router/ingest"
	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// layout is the columns of entries that go through no pipeline, beside those of their labels.
var layout = &pipeline.Layout{Columns: []schema.Column{
	{Name: "line", Type: schema.String, Semantic: schema.Field},
	{Name: "structured_metadata", Type: schema.JSON, Semantic: schema.Field},
}}

// The numbers of the columns of layout.
const (
	columnLine = iota
	columnMetadata
)

// labelsColumn is where labels go if they are to stay together.
var labelsColumn = schema.Column{Name: "labels", Type: schema.JSON, Semantic: schema.Field}

// fill puts the entries into columns.
func (p *push) fill(to *pipeline.Direct) error {
	var w jsonwalk.Walker
	var e entry
	var buf []byte
	columns := labelColumns{to: to, timeName: to.TimeName()}
	return p.streams(func(s *stream) error {
		refused := checkLabels(s.labels)
		columns.begin(s.labels, p.labelsInJSON)
		p.labels, p.at = s.labels, &e
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
			case len(e.metadata) > maxMetadata:
				return to.Drop(errMetadata)
			}
			to.Time(e.nanos)
			to.Text(columnLine, e.line)
			buf = appendObject(buf[:0], e.metadata)
			to.JSON(columnMetadata, buf)
			columns.put()
			return to.End()
		}, bad)
	})
}

// text is a request with the entry that fill is at alone, for the rejects.
func (p *push) text() []byte {
	out := appendObject([]byte(`{"streams":[{"stream":`), p.labels)
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
		if len(e.metadata) > 0 {
			out = appendObject(append(out, ','), e.metadata)
		}
		out = append(out, ']')
	}
	return append(out, `]}]}`...)
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

// begin finds the columns of a stream's labels.
func (c *labelColumns) begin(labels []pair, inJSON bool) {
	c.at, c.values, c.inJSON = c.at[:0], c.values[:0], inJSON
	if inJSON {
		c.jsonAt = c.to.Column(labelsColumn)
		c.json = appendObject(c.json[:0], labels)
		return
	}
	for _, l := range labels {
		if hidden(l.name) {
			continue
		}
		at, ok := c.known[string(l.name)]
		if !ok {
			at = c.column(l.name)
		}
		c.at, c.values = append(c.at, at), append(c.values, l.value)
	}
}

// column finds the column of a label that was not met before in the request.
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

// put puts the labels into the row under way.
func (c *labelColumns) put() {
	if c.inJSON {
		c.to.JSON(c.jsonAt, c.json)
		return
	}
	for i, at := range c.at {
		c.to.Text(at, c.values[i])
	}
}

// appendObject appends pairs as a JSON object. Of pairs of one name the last counts, as in any JSON.
func appendObject(to []byte, pairs []pair) []byte {
	to = append(to, '{')
	first := true
	for i, p := range pairs {
		if hidden(p.name) || repeated(pairs[i+1:], p.name) {
			continue
		}
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(jsonscan.AppendQuotedBytes(to, p.name), ':')
		to = jsonscan.AppendQuotedBytes(to, p.value)
	}
	return append(to, '}')
}

// repeated reports whether a pair of that name follows. Pairs are few (maxLabels, maxMetadata).
func repeated(pairs []pair, name []byte) bool {
	for _, p := range pairs {
		if bytes.Equal(p.name, name) {
			return true
		}
	}
	return false
}

// records gives the entries to a pipeline.
func (p *push) records(to *ingest.Sink) error {
	var w jsonwalk.Walker
	var e entry
	return p.streams(func(s *stream) error {
		refused := checkLabels(s.labels)
		bad := func(text []byte) error { return to.Refuse(text, errEntry) }
		return p.entries(s, &w, &e, func() error {
			switch {
			case refused != nil:
				return to.Refuse(e.line, refused)
			case e.outOfRange:
				return to.Refuse(e.line, errTime)
			case len(e.metadata) > maxMetadata:
				return to.Refuse(e.line, errMetadata)
			}
			size := len(e.line)
			o := value.MakeFields(2 + len(s.labels) + len(e.metadata))
			o.Add("svc_timestamp", value.NewUnixNano(e.nanos))
			o.Add("loki_line", textValue(e.line))
			for _, l := range s.labels {
				if !hidden(l.name) {
					o.Set("loki_label_"+string(l.name), textValue(l.value))
					size += len(l.name) + len(l.value)
				}
			}
			for _, m := range e.metadata {
				o.Set("loki_metadata_"+string(m.name), textValue(m.value))
				size += len(m.name) + len(m.value)
			}
			o.Sort()
			to.At(e.nanos)
			return to.Record(o.Value(), size)
		}, bad)
	})
}

// textValue returns a text of the body as a value, valid UTF-8.
func textValue(b []byte) value.Value {
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return value.NewString(string(b))
}
