package otlp

import (
	"errors"
	"math"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/ingest"
	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// layout has the columns of records without a pipeline.
var layout = &pipeline.Layout{Time: "timestamp", Columns: []schema.Column{
	{Name: "trace_id", Type: schema.String, Semantic: schema.Field},
	{Name: "span_id", Type: schema.String, Semantic: schema.Field},
	{Name: "severity_text", Type: schema.String, Semantic: schema.Field},
	{Name: "severity_number", Type: schema.Int32, Semantic: schema.Field},
	{
		Name: "body", Type: schema.String, Semantic: schema.Field,
		Index: &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)},
	},
	{Name: "log_attributes", Type: schema.JSON, Semantic: schema.Field},
	{Name: "trace_flags", Type: schema.Uint32, Semantic: schema.Field},
	{Name: "scope_name", Type: schema.String, Semantic: schema.Tag},
	{Name: "scope_version", Type: schema.String, Semantic: schema.Field},
	{Name: "scope_attributes", Type: schema.JSON, Semantic: schema.Field},
	{Name: "scope_schema_url", Type: schema.String, Semantic: schema.Field},
	{Name: "resource_attributes", Type: schema.JSON, Semantic: schema.Field},
	{Name: "resource_schema_url", Type: schema.String, Semantic: schema.Field},
}}

// The numbers of the columns of layout.
const (
	columnTraceID = iota
	columnSpanID
	columnSeverityText
	columnSeverity
	columnBody
	columnAttributes
	columnFlags
	columnScope
	columnScopeVersion
	columnScopeAttributes
	columnScopeURL
	columnResource
	columnResourceURL
)

// fill puts the records into columns.
func (q *request) fill(to *pipeline.Direct) error {
	to.Expect(columnBody, len(q.body))
	return q.each(func(r *record, err error) error {
		q.current = r
		if err != nil {
			return to.Drop(err)
		}
		ns, ok, err := r.moment()
		if err != nil {
			return to.Drop(err)
		}
		if ok && q.eventTime {
			to.Time(ns)
		}
		to.Text(columnTraceID, r.traceID)
		to.Text(columnSpanID, r.spanID)
		to.Text(columnSeverityText, r.severityText)
		to.Int(columnSeverity, r.severity)
		to.Text(columnBody, r.body)
		to.JSON(columnAttributes, r.attributes)
		to.Int(columnFlags, int64(r.flags)) //nolint:gosec // it has 32 bits
		to.Text(columnScope, r.name)
		to.Text(columnScopeVersion, r.version)
		to.JSON(columnScopeAttributes, r.scope.attributes)
		to.Text(columnScopeURL, r.schemaURL)
		to.JSON(columnResource, r.resource)
		to.Text(columnResourceURL, r.resourceURL)
		q.repeated += r.repeated
		if err := q.extractTo(to, r); err != nil {
			return to.Drop(err)
		}
		return to.End()
	})
}

// extractTo puts attributes into separate columns, if the request asks for this.
func (q *request) extractTo(to *pipeline.Direct, r *record) error {
	q.search(r)
	for i, key := range q.extract {
		if err := extract(to, key, q.found[i], r.scope.found[i], r.scope.foundResource[i]); err != nil {
			return err
		}
	}
	return nil
}

// search finds the attributes that become columns, in the record, its scope and its resource. The attributes that
// records share are searched once.
func (q *request) search(r *record) {
	if len(q.extract) == 0 {
		return
	}
	if r.scope.foundResource == nil {
		r.scope.foundResource = find(nil, r.resource, q.extract)
	}
	if r.scope.found == nil {
		r.scope.found = find(nil, r.scope.attributes, q.extract)
	}
	q.found = find(q.found, r.attributes, q.extract)
}

// extract puts the first attribute that exists into a column named by the key.
func extract(to *pipeline.Direct, key string, attributes ...[]byte) error {
	for _, raw := range attributes {
		if raw == nil {
			continue
		}
		c := schema.Column{Name: key, Type: schema.String, Semantic: schema.Tag}
		if !to.NewTable() {
			c.Semantic = schema.Field
		}
		w := jsonwalk.New(raw)
		switch w.Kind() {
		case '"':
			text, _, _ := w.String()
			to.Text(to.Column(c), text)
			return nil
		case 't', 'f':
			c.Type = schema.Boolean
			to.Bool(to.Column(c), raw[0] == 't')
			return nil
		case '0':
			if kind, n, _, _, _ := w.Number(); kind == jsonscan.Int {
				c.Type = schema.Int64
				to.Int(to.Column(c), n)
				return nil
			}
		case 'n':
			return nil
		}
		return errors.New("the attribute " + strings.ToValidUTF8(key, "\uFFFD") +
			" cannot become a column by x-svc-log-extract-keys, because it is not a text, an integer or a boolean")
	}
	return nil
}

// find returns the texts of the first members of an object with the given keys, ignoring case, or nil if there is
// none. dst is memory for them.
func find(dst [][]byte, object []byte, keys []string) [][]byte {
	dst = append(dst[:0], make([][]byte, len(keys))...)
	w := jsonwalk.New(object)
	// This package made the text, so there are no errors.
	_ = w.Object(func(name []byte) error {
		at := -1
		for i, key := range keys {
			if len(dst[i]) == 0 && strings.EqualFold(string(name), key) {
				at = i
				break
			}
		}
		raw, err := w.Raw()
		if at >= 0 {
			dst[at] = raw
		}
		return err
	})
	return dst
}

// records passes the records to a pipeline.
func (q *request) records(to *ingest.Sink) error {
	n := 0
	return q.each(func(r *record, err error) error {
		q.current = r
		if err != nil {
			return to.Refuse(q.text(), err)
		}
		ns, ok, err := r.moment()
		if err != nil {
			return to.Refuse(q.text(), err)
		}
		if r.observed > math.MaxInt64 {
			return to.Refuse(q.text(), errObserved)
		}
		q.repeated += r.repeated
		o := value.MakeFields(15)
		o.Add("Timestamp", value.NewInt(int64(r.time)))             //nolint:gosec // moment has looked at it
		o.Add("ObservedTimestamp", value.NewInt(int64(r.observed))) //nolint:gosec // it is in range
		o.Add("TraceId", textValue(r.traceID))
		o.Add("SpanId", textValue(r.spanID))
		o.Add("TraceFlags", value.NewInt(int64(r.flags))) //nolint:gosec // it has 32 bits
		o.Add("SeverityText", textValue(r.severityText))
		o.Add("SeverityNumber", value.NewInt(r.severity))
		o.Add("Body", textValue(r.body))
		o.Add("ScopeName", textValue(r.name))
		o.Add("ScopeVersion", textValue(r.version))
		o.Add("ScopeSchemaUrl", textValue(r.schemaURL))
		o.Add("ResourceSchemaUrl", textValue(r.resourceURL))
		for key, text := range map[string][]byte{
			"LogAttributes":      r.attributes,
			"ScopeAttributes":    r.scope.attributes,
			"ResourceAttributes": r.resource,
		} {
			v, err := value.ParseJSON(string(text), value.JSONOptions{})
			if err != nil {
				return to.Refuse(q.text(), err)
			}
			o.Add(key, v)
		}
		o.Sort()
		if !ok || !q.eventTime {
			ns = q.arrival + int64(n) // so that the rows keep their order
		}
		n++
		to.At(ns)
		return to.Record(o.Value(), len(r.body)+len(r.attributes))
	})
}

func textValue(b []byte) value.Value {
	return value.NewString(strings.ToValidUTF8(string(b), "\uFFFD"))
}
