package pipeline

import (
	"strings"

	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/document"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/value"
)

// maxListed limits the number of columns of a transform list.
const maxListed = 4096

// compileTransform compiles the transform list at n. An empty list means the same as no list. texts has the fields that
// are texts after the processors.
func (p *Pipeline) compileTransform(n *document.Node, o Options, texts map[string]string) {
	var index *document.Node // of the time index
	byName := map[string]*document.Node{}
	for _, e := range n.List() {
		m := e.Map()
		key, at := m.OneOf("field", "fields")
		pairs := processor.FieldPairs(m, key, at)
		proto, isIndex := p.compileColumn(m)
		m.Done()
		if isIndex && len(pairs) > 1 {
			m.Fault("the time index is one field, not %d", len(pairs))
		}
		for _, pair := range pairs {
			c := *proto
			c.in, c.column.Name = p.names.Name(pair.In), strings.Clone(pair.Out)
			if err := schema.CheckColumnName(pair.Out); err != nil {
				pair.Node.Fault("%s", err)
			}
			if other := byName[pair.Out]; other != nil {
				pair.Node.Fault("the column %q is listed twice, first in line %d", processor.Cut(pair.Out), other.Line())
				continue
			}
			byName[pair.Out] = pair.Node
			if p.consumed == nil {
				p.consumed = map[string]bool{}
			}
			p.consumed[c.in.Text], p.consumed[c.column.Name] = true, true
			if len(p.transform) >= maxListed {
				n.Fault("more than %d columns", maxListed)
				return
			}
			if isIndex {
				if index != nil {
					m.Fault("a second time index; the first is in line %d", index.Line())
					continue
				}
				index = pair.Node
				warnOfTimeText(m, pair, texts[pair.In])
				p.timeAt, p.timeName, p.timeUnit = len(p.transform), c.column.Name, c.column.Type
				p.timePlace = len(p.columns)
			} else {
				c.at = len(p.columns)
				p.columns = append(p.columns, c.column)
			}
			p.transform = append(p.transform, &c)
		}
	}
	if len(p.transform) == 0 || index != nil {
		return
	}
	switch other := byName[o.TimestampColumn]; {
	case p.version == 2:
		n.Fault("a transform list of version 2 needs exactly one column with `index: timestamp`")
	case other != nil:
		other.Fault("the column %s is the time index that is added when none is listed; give it `index: timestamp`, or "+
			"another name", o.TimestampColumn)
	}
	// In version 1 it is the time of processing, unless the record has a time with that name.
	p.timeName, p.timeField = o.TimestampColumn, p.names.Name(o.TimestampColumn)
	p.timePlace = len(p.columns)
}

// warnOfTimeText warns of a time index whose field is still a text set by a processor of kind by; by is "" if the
// field is not known to be a text. With the type epoch, the text of a number is expected.
func warnOfTimeText(m *document.Map, pair processor.FieldPair, by string) {
	if typ := m.String("type", ""); by == "" || strings.HasPrefix(strings.ToLower(strings.TrimSpace(typ)), "epoch") {
		return
	}
	pair.Node.Warn("the time index is the text that %s sets in the field %q: it is parsed if it is RFC 3339 or an "+
		"integer; "+
		"for other forms add a `date` processor for the field", by, processor.Cut(pair.In))
}

// compileColumn reads an element of the list, except its fields.
func (p *Pipeline) compileColumn(m *document.Map) (c *listed, isIndex bool) {
	c = &listed{column: schema.Column{Semantic: schema.Field, Type: schema.String}}
	if n := m.Get("type"); n == nil {
		m.Fault(`"type" is required`)
	} else if text, ok := n.String(); ok {
		if t, why := columnType(text); why != "" {
			n.Fault("%s", why)
		} else {
			c.column.Type, c.typed = t, true
		}
	}
	t := c.column.Type
	if n := m.Get("index"); n != nil {
		isIndex = c.readIndex(n)
	}
	if m.Bool("tag", false) {
		if isIndex {
			m.Fault("the time index cannot be a tag")
		}
		c.column.Semantic = schema.Tag
	}
	if isIndex {
		c.column.Semantic, c.column.NotNull = schema.Timestamp, true
	}
	if n := m.Get("on_failure"); n != nil {
		switch m.Choice("on_failure", "ignore", "default") {
		case "ignore":
			c.onFailure = failToNull
		case "default":
			c.onFailure, c.now = failToDefault, isIndex
		}
	}
	if n := m.Get("default"); n != nil {
		switch {
		case !c.typed:
		case t.IsTimestamp() || t == schema.JSON:
			n.Fault("a %s column cannot have a default", t)
		default:
			if v, ok := scalar(n); ok {
				c.readDefault(n, v)
			}
		}
		c.onFailure = failToDefault
	}
	return c, isIndex
}

// readDefault converts the default v, which n gives, to the type of the column.
func (c *listed) readDefault(n *document.Node, v value.Value) {
	var k converter
	t := c.column.Type
	switch {
	case !k.convert(&c.def, v, t):
		n.Fault("%s is not a value of %s", n.What(), t)
	case k.loss == lossFraction, k.loss == lossRange:
		n.Fault("%s is not a value of %s: give the number to store, or give the column another type", n.What(), t)
	}
	c.def.bytes = append([]byte(nil), c.def.bytes...)
}

var typeWords = map[string]schema.Type{
	"int8": schema.Int8, "int16": schema.Int16, "int32": schema.Int32, "int64": schema.Int64,
	"uint8": schema.Uint8, "uint16": schema.Uint16, "uint32": schema.Uint32, "uint64": schema.Uint64,
	"float32": schema.Float32, "float64": schema.Float64, "boolean": schema.Boolean, "bool": schema.Boolean,
	"string": schema.String, "json": schema.JSON,
}

// columnType parses the type of a transform, for example int32, or epoch, ms. why describes the fault if the type is
// invalid.
func columnType(text string) (t schema.Type, why string) {
	word, unit, hasUnit := strings.Cut(strings.ToLower(strings.TrimSpace(text)), ",")
	word, unit = strings.TrimSpace(word), strings.TrimSpace(unit)
	switch word {
	case "timestamp", "epoch", "time":
		if !hasUnit {
			return schema.TimestampNanosecond, ""
		}
		per, ok := processor.Resolution(unit)
		if !ok {
			return 0, "unknown resolution " + quoted(unit) + " of " + word + ", expected one of s, ms, us, ns"
		}
		return timestampType(per), ""
	}
	if t, ok := typeWords[word]; ok && !hasUnit {
		return t, ""
	}
	words := []string{"timestamp", "epoch", "time"}
	for w := range typeWords {
		words = append(words, w)
	}
	if s := nearest.DidYouMean(", ", word, words); s != "" {
		return 0, "unknown type " + quoted(text) + s
	}
	return 0, "unknown type " + quoted(text) +
		", expected int8 to int64, uint8 to uint64, float32, float64, boolean, string, json, or timestamp, epoch or time " +
		"with a resolution, such as `epoch, ms`"
}
