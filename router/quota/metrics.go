package quota

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/schema"
	"cordwood/router/labels"
)

// maxLabels limits the number of databases with their own counters.
const maxLabels = 200

type metrics struct {
	refusals   *prometheus.CounterVec // by db, quota
	unanswered prometheus.Counter
	databases  *labels.Limit
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_quota_refusals_total",
			Help: "Requests that this router refused because of a quota of their database, by database and quota.",
		}, []string{"db", "quota"}),
		unanswered: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_quota_reports_unanswered_total",
			Help: "Reports of the use of quotas that the metadata group did not answer. Meanwhile the limits are divided " +
				"equally among the routers.",
		}),
		databases: labels.NewLimit(maxLabels),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.refusals, m.unanswered} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("quota: register metrics: %w", err)
		}
	}
	return m, nil
}

// refused counts a refusal. quota is one of schema.QuotaNames.
func (m *metrics) refused(database, quota string) {
	m.refusals.WithLabelValues(m.databases.Of(database), quota[len(schema.QuotaPrefix):]).Inc()
}
