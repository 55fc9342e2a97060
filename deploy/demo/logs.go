package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

type accessLine struct {
	Time       string `json:"time"`
	Client     string `json:"client"`
	Method     string `json:"method"`
	Path       string `json:"path"`
	Status     int    `json:"status"`
	Bytes      int    `json:"bytes"`
	DurationUS int    `json:"duration_us"`
	Agent      string `json:"agent"`
	TLS        bool   `json:"tls"`
}

// accessLog generates the access log of a small shop for the ten minutes before end. Most requests are
// for a few paths, failures come in bursts, and durations have a long tail.
func accessLog(n int, end time.Time) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.3, 4, 999)
	agents := []string{
		"Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)",
		"curl/8.9.1", "kube-probe/1.31",
	}
	pages := []string{"/", "/cart", "/login", "/search", "/healthz"}
	var out []byte
	for i := range n {
		at := end.Add(-10*time.Minute + time.Duration(float64(i)/float64(n)*float64(10*time.Minute)))
		line := accessLine{
			Time: at.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), Client: fmt.Sprintf("192.0.2.%d", zipf.Uint64()%250+1),
			Method: "GET", Status: 200, Bytes: 200 + r.IntN(40_000), DurationUS: 1 + int(r.ExpFloat64()*12_000),
			Agent: agents[r.IntN(len(agents))], TLS: r.IntN(10) > 0,
		}
		if p := zipf.Uint64(); p < uint64(len(pages)) {
			line.Path = pages[p]
		} else {
			line.Path = fmt.Sprintf("/products/%d", p)
		}
		switch burst := i/50%17 == 3; {
		case burst && r.IntN(3) == 0:
			line.Status, line.DurationUS = 502, 1_000_000+r.IntN(2_000_000)
		case line.Path == "/login" || r.IntN(20) == 0:
			line.Method, line.Status = "POST", 303
		case r.IntN(40) == 0:
			line.Status, line.Bytes = 404, 153
		}
		out = append(out, mustJSON(line)...)
	}
	return out
}

// appLog makes nested JSON records of several shapes.
func appLog(end time.Time) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	var out []byte
	for i := range 200 {
		rec := map[string]any{
			"at": end.Add(time.Duration(i-200) * time.Second).UTC().Format(time.RFC3339), "level": "info",
			"msg":     "request completed",
			"service": map[string]any{"name": []string{"checkout", "cart", "catalog"}[r.IntN(3)], "version": "1.42.0"},
			"http":    map[string]any{"method": "GET", "status": 200, "duration_ms": r.IntN(90)},
		}
		switch i % 40 {
		case 7:
			rec["level"], rec["msg"], rec["tags"] = "warn", "slow query", []string{"slow", "db"}
			rec["http"] = map[string]any{"method": "GET", "status": 200, "duration_ms": 2400 + r.IntN(900)}
		case 23:
			rec["level"], rec["msg"] = "error", "payment refused"
			rec["error"] = map[string]any{"type": "UpstreamError", "retryable": true}
			rec["http"] = map[string]any{"method": "POST", "status": 502, "duration_ms": 30_001}
		}
		out = append(out, mustJSON(rec)...)
	}
	return out
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}
