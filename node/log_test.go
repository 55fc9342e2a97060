package node

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cordwood/node/config"
	"cordwood/router/access/token"

	"github.com/prometheus/client_golang/prometheus"
)

// logTo returns a logger that writes to out.
func logTo(t *testing.T, out *bytes.Buffer, format string) *slog.Logger {
	t.Helper()
	cfg := &config.Config{}
	cfg.Log.Format, cfg.Log.Level = format, "info"
	log, err := newLogger(cfg, out, &slog.LevelVar{},
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lines"}, []string{"level"}))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestLogsHideTokens checks that no line has the secret of a token, wherever a client has sent it.
func TestLogsHideTokens(t *testing.T) {
	text, id := token.New()
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log := logTo(t, &out, format)
		log.With("client", "curl "+text).WithGroup("g").Info("of "+text, "error", errors.New("no table "+text), "path", text)
		if got := out.String(); strings.Contains(got, text[14:]) || strings.Count(got, token.Name(id)+"_…") != 4 {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// TestLoggedDurationsHaveUnits checks that durations in JSON lines are not bare numbers.
func TestLoggedDurationsHaveUnits(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log := logTo(t, &out, format)
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
