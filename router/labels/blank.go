package labels

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// Blank returns the metrics that g gathers, with the named labels set to empty, for readers who may not see their
// values. Counters that become equal are added up. Other metrics with such a label are left out, because their series
// cannot be added.
func Blank(g prometheus.Gatherer, names ...string) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := g.Gather() // may have gathered some metrics although others failed
		out := families[:0]
		for _, f := range families {
			if !slices.ContainsFunc(f.Metric, func(m *dto.Metric) bool { return slices.ContainsFunc(m.Label, has(names)) }) {
				out = append(out, f)
			} else if f.GetType() == dto.MetricType_COUNTER {
				out = append(out, blank(f, names))
			}
		}
		return out, err
	})
}

func has(names []string) func(*dto.LabelPair) bool {
	return func(l *dto.LabelPair) bool { return slices.Contains(names, l.GetName()) }
}

// blank returns a copy of a family, because other code may share the labels of f.
func blank(f *dto.MetricFamily, names []string) *dto.MetricFamily {
	out := &dto.MetricFamily{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit}
	sums := map[string]*dto.Metric{}
	named := has(names)
	for _, m := range f.Metric {
		var key strings.Builder
		pairs := make([]*dto.LabelPair, len(m.Label))
		for i, l := range m.Label {
			if pairs[i] = l; named(l) {
				pairs[i] = &dto.LabelPair{Name: l.Name, Value: proto.String("")}
			}
			key.WriteString(pairs[i].GetName() + "\x00" + pairs[i].GetValue() + "\x00")
		}
		sum := sums[key.String()]
		if sum == nil {
			sum = &dto.Metric{Label: pairs, Counter: &dto.Counter{Value: proto.Float64(0)}}
			sums[key.String()] = sum
			out.Metric = append(out.Metric, sum)
		}
		*sum.Counter.Value += m.GetCounter().GetValue()
	}
	return out
}
