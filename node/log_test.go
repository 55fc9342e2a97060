package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cordwood/node/config"

	"github.com/prometheus/client_golang/prometheus"
)

// TestLoggedDurationsHaveUnits checks that durations in JSON lines are not bare numbers.
func TestLoggedDurationsHaveUnits(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		cfg := &config.Config{}
		cfg.Log.Format, cfg.Log.Level = format, "info"
		log, err := newLogger(cfg, &out, &slog.LevelVar{},
			prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lines"}, []string{"level"}))
		if err != nil {
			t.Fatal(err)
		}
		log.With("waited", 2*time.Minute).WithGroup("g").Info("x", "took", 1415*time.Millisecond, "rows", 7)
		for _, want := range []string{"1.415s", "2m0s"} {
			if !strings.Contains(strings.ReplaceAll(out.String(), `"`, ""), want) {
				t.Errorf("%s: no %s in %s", format, want, out.String())
			}
		}
		if format == "json" && !strings.Contains(out.String(), `"rows":7`) {
			t.Errorf("rows: %s", out.String())
		}
	}
}
