package lokiapi

import (
	"context"
	"strconv"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/loki"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
	"cordwood/router/loki/translate"
)

// usualSteps is the default number of steps in a time range.
const usualSteps = 250

// maxCounted is the longest time that is divided into steps. Its sum with a range and a step fits into 64 bits.
const maxCounted = 100 * 365 * 24 * time.Hour

// checkCounted returns an error if a time is too long to be divided into steps.
func checkCounted(span loki.Span) error {
	// The difference may be too large for 64 bits.
	if d := span.End - span.Start; d < 0 || d > int64(maxCounted) {
		return errs.New(errs.InvalidArguments, "the time from start to end is longer than 100 years: set start "+
			"and end closer together")
	}
	return nil
}

// steps reads the steps of a time range.
func (c *call) steps(span loki.Span) (translate.Steps, error) {
	if err := checkCounted(span); err != nil {
		return translate.Steps{}, err
	}
	missing := max(time.Second, (time.Duration(span.End-span.Start) / usualSteps).Truncate(time.Second))
	step, err := c.duration("step", missing)
	if err != nil {
		return translate.Steps{}, err
	}
	n := (span.End-span.Start)/int64(step) + 1
	if n > loki.MaxSteps {
		return translate.Steps{}, errs.New(errs.InvalidArguments, "exceeded maximum resolution of 11,000 points per time "+
			"series. Try increasing the value of the step parameter")
	}
	return translate.Steps{Start: span.Start, Step: int64(step), N: int(n)}, nil
}

// matrix answers query_range for a metric.
func (c *call) matrix(ctx context.Context, m logql.Metric, span loki.Span) ([]byte, error) {
	steps, err := c.steps(span)
	if err != nil {
		return nil, err
	}
	v, err := c.reader.Metric(ctx, m, steps)
	if err != nil {
		return nil, err
	}
	if v.Scalar != nil {
		s := series.New(map[string]string{}, steps.N)
		for i, n := range v.Scalar {
			s.Set(i, n)
		}
		v.Series = []*series.Series{s}
	}
	return c.result("matrix", func(out []byte) []byte { return appendMatrix(out, v.Series, steps) }), nil
}

func appendMatrix(out []byte, list []*series.Series, steps translate.Steps) []byte {
	out = append(out, '[')
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"metric":`...)
		out = appendLabels(out, s.Labels)
		out = append(out, `,"values":[`...)
		first := true
		for step, ok := range s.Has {
			if !ok {
				continue
			}
			if !first {
				out = append(out, ',')
			}
			first = false
			out = appendSample(out, steps.Start+int64(step)*steps.Step, s.Values[step])
		}
		out = append(out, ']', '}')
	}
	return append(out, ']')
}

// appendSample appends [seconds,"number"].
func appendSample(out []byte, nanos int64, v float64) []byte {
	out = append(out, '[')
	out = strconv.AppendFloat(out, float64(nanos/1e6)/1e3, 'f', -1, 64)
	out = append(out, ',', '"')
	out = strconv.AppendFloat(out, v, 'f', -1, 64)
	return append(out, '"', ']')
}

func appendVector(out []byte, list []*series.Series, nanos int64) []byte {
	out = append(out, '[')
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"metric":`...)
		out = appendLabels(out, s.Labels)
		out = append(out, `,"value":`...)
		out = appendSample(out, nanos, s.Values[0])
		out = append(out, '}')
	}
	return append(out, ']')
}

// instant answers query: a metric at one time.
func instant(ctx context.Context, c *call) ([]byte, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	at, ok, err := c.moment("time")
	if err != nil {
		return nil, err
	}
	if !ok {
		at = c.now.UnixNano()
	}
	if _, err := c.limit("limit", 100, loki.MaxEntries); err != nil {
		return nil, err
	}
	m, ok := q.(logql.Metric)
	if !ok {
		return nil, errs.New(errs.InvalidArguments, "log queries are not supported as an instant query type, please change "+
			"your query to a range query type")
	}
	v, err := c.reader.Metric(ctx, m, translate.Steps{Start: at, Step: 1, N: 1})
	if err != nil {
		return nil, err
	}
	if v.Scalar != nil {
		return c.result("scalar", func(out []byte) []byte { return appendSample(out, at, v.Scalar[0]) }), nil
	}
	return c.result("vector", func(out []byte) []byte { return appendVector(out, v.Series, at) }), nil
}

// volume reads the parameters of a request for volumes.
func (c *call) volume() (*loki.Volume, error) {
	q, span, err := c.selection()
	if err != nil {
		return nil, err
	}
	if err := checkCounted(span); err != nil {
		return nil, err
	}
	v := &loki.Volume{Query: q, Span: span, Labels: c.names("targetLabels")}
	if len(v.Labels) > loki.MaxVolumeLabels {
		return nil, errs.New(errs.InvalidArguments, "targetLabels has %d labels, and at most %d are allowed: ask for the "+
			"others in further requests", len(v.Labels), loki.MaxVolumeLabels)
	}
	if v.Limit, err = c.limit("limit", 100, loki.MaxVolumes); err != nil {
		return nil, err
	}
	switch by := c.params.Get("aggregateBy"); by {
	case "", "series":
	case "labels":
		v.ByName = true
	default:
		return nil, errs.New(errs.InvalidArguments, "invalid aggregateBy %q: it must be series or labels", clip(by))
	}
	return v, nil
}

// volumes answers index/volume.
func volumes(ctx context.Context, c *call) ([]byte, error) {
	v, err := c.volume()
	if err != nil {
		return nil, err
	}
	list, err := c.reader.Volume(ctx, v)
	if err != nil {
		return nil, err
	}
	return c.result("vector", func(out []byte) []byte { return appendVector(out, list, v.End) }), nil
}

// volumeRange answers index/volume_range.
func volumeRange(ctx context.Context, c *call) ([]byte, error) {
	v, err := c.volume()
	if err != nil {
		return nil, err
	}
	steps, err := c.steps(v.Span)
	if err != nil {
		return nil, err
	}
	// The ranges begin at the start, so the first one ends a step later.
	steps.Start, steps.N = steps.Start+steps.Step-1, max(1, steps.N-1)
	v.Steps = &steps
	list, err := c.reader.Volume(ctx, v)
	if err != nil {
		return nil, err
	}
	return c.result("matrix", func(out []byte) []byte { return appendMatrix(out, list, steps) }), nil
}
