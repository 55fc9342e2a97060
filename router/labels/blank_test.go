package labels

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func TestBlank(t *testing.T) {
	reg := prometheus.NewRegistry()
	rows := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rows_total", Help: "Rows."},
		[]string{"db", "kind", "table"})
	age := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "age", Help: "An age."}, []string{"db"})
	other := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "other", Help: "Another."}, []string{"shard"})
	reg.MustRegister(rows, age, other)
	rows.WithLabelValues("secret", "a", "t").Add(1)
	rows.WithLabelValues("shop", "a", "t").Add(2)
	rows.WithLabelValues("shop", "b", "u").Add(4)
	age.WithLabelValues("secret").Set(1)
	other.WithLabelValues("7").Set(3)
	const want = `# HELP other Another.
# TYPE other gauge
other{shard="7"} 3
# HELP rows_total Rows.
# TYPE rows_total counter
rows_total{db="",kind="a",table=""} 3
rows_total{db="",kind="b",table=""} 4
`
	blanked, whole := printed(Blank(reg, "db", "table")), printed(reg)
	if got := blanked(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	// The families in the registry are unchanged.
	if got := whole(); !strings.Contains(got, `rows_total{db="secret",kind="a",table="t"} 1`) ||
		!strings.Contains(got, `age{db="secret"} 1`) || blanked() != want {
		t.Errorf("the registry has\n%s", got)
	}
}

// printed returns a function that prints the metrics.
func printed(g prometheus.Gatherer) func() string {
	h := promhttp.HandlerFor(g, promhttp.HandlerOpts{DisableCompression: true})
	return func() string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
}
