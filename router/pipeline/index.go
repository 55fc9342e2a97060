package pipeline

import (
	"maps"
	"strconv"
	"strings"

	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/document"
	"cordwood/router/pipeline/processor"
)

var indexWords = []string{"timestamp", "time", "tag", "inverted", "fulltext", "skipping"}

// readIndex parses the index of a column: a word, or {type: word, options: {…}}. It reports whether the column is
// the time index.
func (c *listed) readIndex(n *document.Node) bool {
	word, at := "", n
	var options *document.Node
	if n.IsMap() {
		m := n.Map()
		options = m.Get("options")
		if t := m.Get("type"); t != nil {
			at = t
			word, _ = t.String()
		} else {
			m.Fault(`"type" is required`)
		}
		m.Done()
	} else {
		word, _ = n.String()
	}
	if word == "" {
		return false
	}
	var kind schema.IndexKind
	switch strings.ToLower(word) {
	case "timestamp", "time":
		if c.typed && !c.column.Type.IsTimestamp() {
			at.Fault("the time index must have the type timestamp, epoch or time, not %s", c.column.Type)
		}
	case "tag":
		c.column.Semantic = schema.Tag
	case "inverted":
		kind = schema.InvertedIndex
	case "skipping":
		kind = schema.SkippingIndex
	case "fulltext":
		kind = schema.FulltextIndex
		if c.typed && c.column.Type != schema.String {
			at.Fault("a fulltext index needs a string column, not %s", c.column.Type)
		}
	default:
		at.Fault("unknown index %q, expected one of %s%s", processor.Cut(word), strings.Join(indexWords, ", "),
			nearest.DidYouMean(", ", word, indexWords))
		return false
	}
	if kind != 0 {
		c.column.Index = &schema.Index{Kind: kind, Options: schema.DefaultIndexOptions(kind)}
	}
	if options != nil {
		c.readIndexOptions(options, kind)
	}
	return strings.EqualFold(word, "timestamp") || strings.EqualFold(word, "time")
}

func (c *listed) readIndexOptions(n *document.Node, kind schema.IndexKind) {
	m := n.Map()
	if kind != schema.SkippingIndex && kind != schema.FulltextIndex {
		n.Fault(`only fulltext and skipping indexes have options; leave "options" out`)
		return
	}
	given := map[string]string{}
	if o := m.Get(schema.IndexOptionGranularity); o != nil {
		text, _ := o.Text()
		if v, err := strconv.ParseUint(text, 10, 31); err != nil || v == 0 {
			o.Fault("expected an integer above 0, found %s", o.What())
		} else {
			given[schema.IndexOptionGranularity] = strconv.FormatUint(v, 10)
		}
	}
	if o := m.Get(schema.IndexOptionFalsePositiveRate); o != nil {
		text, _ := o.Text()
		if v, err := strconv.ParseFloat(text, 64); err != nil || !(v > 0 && v <= 1) {
			o.Fault("expected a number above 0 and at most 1, found %s", o.What())
		} else {
			given[schema.IndexOptionFalsePositiveRate] = strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	if kind == schema.SkippingIndex {
		given[schema.IndexOptionType] = m.Choice(schema.IndexOptionType, "BLOOM")
	} else {
		given[schema.IndexOptionAnalyzer] = m.Choice(schema.IndexOptionAnalyzer, "English", "Chinese")
		given[schema.IndexOptionBackend] = m.Choice(schema.IndexOptionBackend, "bloom", "tantivy")
		if o := m.Get(schema.IndexOptionCaseSensitive); o != nil {
			text, _ := o.Text()
			switch {
			case strings.EqualFold(text, "true"):
				given[schema.IndexOptionCaseSensitive] = "true"
			case !strings.EqualFold(text, "false"):
				o.Fault("expected true or false, found %s", o.What())
			}
		}
	}
	m.Done()
	maps.Copy(c.column.Index.Options, given)
}
