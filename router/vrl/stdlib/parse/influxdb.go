package parse

import (
	"math"
	"strconv"
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// influxLine is the part of a line that all of its metrics share.
type influxLine struct {
	name string
	tags value.Value
	time value.Value
}

// cutInflux returns the text before the first unescaped byte in stop, without the backslashes before bytes in
// escaped, and the rest.
func cutInflux(s, stop, escaped string) (text, rest string) {
	plain := true
	i := 0
	for i < len(s) && strings.IndexByte(stop, s[i]) < 0 {
		if s[i] == '\\' && i+1 < len(s) {
			plain = false
			i++
		}
		i++
	}
	i = min(i, len(s))
	if text = s[:i]; plain {
		return text, s[i:]
	}
	b := make([]byte, 0, len(text))
	for k := 0; k < len(text); k++ {
		if text[k] == '\\' && k+1 < len(text) && strings.IndexByte(escaped, text[k+1]) >= 0 {
			k++
		}
		b = append(b, text[k])
	}
	return fn.Unsafe(b), s[i:]
}

// parseInflux appends the metrics of a line to list. The second result describes a fault.
func parseInflux(f *fn.Frame, s string, list []value.Value) ([]value.Value, string) {
	var l influxLine
	l.name, s = cutInflux(s, ", ", ", ")
	if l.name == "" {
		return list, badInflux + "No measurement was provided"
	}
	tags, s, fault := influxTags(s)
	if fault != "" {
		return list, fault
	}
	if len(tags) > 0 {
		l.tags = gather(tags, func(_, b value.Value) value.Value { return b })
	}
	metrics, s, fault := influxMetrics(s)
	if fault != "" {
		return list, fault
	}
	if s = strings.TrimSpace(s); s != "" {
		ns, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return list, badInflux + "The timestamp is not valid"
		}
		l.time = value.NewUnixNano(ns)
	}
	for _, m := range metrics {
		b := newFields(5)
		b.add("gauge", value.ObjectOf(value.Field{Key: "value", Value: value.NewFloat(m.x)}))
		b.str("kind", "absolute")
		name, ok := f.Concat(l.name+"_", m.key)
		if !ok || !f.Reserve(256) {
			return list, "the budget of bytes is used up"
		}
		b.add("name", name)
		if l.tags.Kind() == value.Object {
			b.add("tags", l.tags.Share())
		}
		if l.time.Kind() == value.Timestamp {
			b.add("timestamp", l.time)
		}
		list = append(list, b.value())
	}
	return list, ""
}

const badInflux = "InfluxDB line protocol parsing error: "

// influxTags reads the tags of a line, which follow its measurement. fault is a text if they are not valid.
func influxTags(s string) (tags []value.Field, rest, fault string) {
	for strings.HasPrefix(s, ",") {
		var key, text string
		key, s = cutInflux(s[1:], "=, ", "=, ")
		if key == "" || !strings.HasPrefix(s, "=") {
			return nil, s, badInflux + "A tag has no key or no value"
		}
		text, s = cutInflux(s[1:], ", ", "=, ")
		if text == "" {
			return nil, s, badInflux + "A tag has no value"
		}
		tags = append(tags, value.Field{Key: key, Value: value.NewString(text)})
	}
	return tags, s, ""
}

// influxMetric is a field of a line.
type influxMetric struct {
	key string
	x   float64
}

// influxMetrics reads the fields of a line, which follow its tags. fault is a text if they are not valid.
func influxMetrics(s string) (metrics []influxMetric, rest, fault string) {
	for s = strings.TrimPrefix(s, " "); s != "" && s[0] != ' '; s = strings.TrimPrefix(s, ",") {
		var key, text string
		key, s = cutInflux(s, "=, ", "=, ")
		if key == "" || !strings.HasPrefix(s, "=") {
			return nil, s, badInflux + "A field has no key or no value"
		}
		s = s[1:]
		if strings.HasPrefix(s, `"`) {
			return nil, s, "Error while converting InfluxDB line protocol metric to Vector's metric model: " +
				"field set values of type string are not supported"
		}
		text, s = cutInflux(s, ", ", "")
		x, ok := influxNumber(text)
		if !ok {
			return nil, s, badInflux + "The value of field " + strings.Clone(key) + " is not valid"
		}
		metrics = append(metrics, influxMetric{key, x})
	}
	if len(metrics) == 0 {
		return nil, s, badInflux + "No fields were provided"
	}
	return metrics, s, ""
}

// influxNumber parses the value of a field as a number.
func influxNumber(s string) (float64, bool) {
	switch s {
	case "t", "T", "true", "True", "TRUE":
		return 1, true
	case "f", "F", "false", "False", "FALSE":
		return 0, true
	case "":
		return 0, false
	}
	switch s[len(s)-1] {
	case 'i':
		i, err := strconv.ParseInt(s[:len(s)-1], 10, 64)
		return float64(i), err == nil
	case 'u':
		u, err := strconv.ParseUint(s[:len(s)-1], 10, 64)
		return float64(u), err == nil
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

var parseInfluxDB = &fn.Function{
	Name:  "parse_influxdb",
	Group: fn.Parse,
	Doc: "Parses lines of InfluxDB's line protocol into an array of metrics, one for each field. The name of a " +
		"metric consists of the names of the measurement and the field, and its value is a gauge.",
	Params: []fn.Param{fn.ValueParam("The lines. Empty lines and lines that start with # are ignored.")},
	Returns: kind.ArrayAll(kind.ObjectOf(
		kind.Field{Name: "name", Kind: kind.String}, kind.Field{Name: "kind", Kind: kind.String},
		kind.Field{Name: "tags", Kind: kind.ObjectAll(kind.String).OrUndefined()},
		kind.Field{Name: "timestamp", Kind: kind.Timestamp.OrUndefined()},
		kind.Field{Name: "gauge", Kind: kind.ObjectOf(kind.Field{Name: "value", Kind: kind.Float})},
	)),
	Fallible: true,
	Errors:   []string{"a line is not in the protocol", "a field is a string"},
	Examples: []fn.Example{
		{
			Title: "a line", Source: `parse_influxdb!("cpu,host=a used=64i 1590488773254420000")`,
			Result: `[{"gauge":{"value":64.0},"kind":"absolute","name":"cpu_used","tags":{"host":"a"},` +
				`"timestamp":"2020-05-26T10:26:13.254420Z"}]`,
		},
		{Title: "no fields", Source: `parse_influxdb!("cpu ")`, Fails: `No fields were provided`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		var list []value.Value
		for line := range strings.Lines(v.Text()) {
			line = strings.Trim(line, "\r\n")
			if line = strings.TrimLeft(line, " \t"); line == "" || line[0] == '#' {
				continue
			}
			var problem string
			if list, problem = parseInflux(f, line, list); problem != "" {
				return f.Fail(problem)
			}
		}
		return value.NewArray(list), true
	}},
}
