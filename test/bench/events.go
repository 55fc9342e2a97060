package main

import (
	"fmt"
	"strings"
)

// kinds are the events of an application. Each has its own fields, with random values.
var kinds = []struct {
	logger, level string
	message       func(g *generator) string
	fields        func(g *generator) string
}{
	{"http.server", "info", say("request completed"), func(g *generator) string {
		return fmt.Sprintf(
			`"http":{"method":"%s","route":"/v1/%s/{id}","status_code":%d,"duration_ms":%d.%02d,"bytes_out":%d},`+
				`"user_id":"u-%d"`,
			methods[g.r.IntN(10)], services[g.r.IntN(10)], statuses[g.r.IntN(len(statuses))], g.r.IntN(90),
			g.r.IntN(100), g.r.IntN(9000), 100_000+g.r.IntN(2000))
	}},
	{"http.client", "debug", say("outgoing request"), func(g *generator) string {
		return fmt.Sprintf(`"peer":{"service":"%s","attempt":%d,"duration_ms":%d}`, services[g.r.IntN(10)],
			1+g.r.IntN(3), g.r.IntN(400))
	}},
	{"scheduler", "info", say("job finished"), func(g *generator) string {
		return fmt.Sprintf(`"job":{"name":"reindex-%d","run_id":"%s","duration_ms":%d.%02d,"ok":%t}`, g.r.IntN(40),
			g.hex(16), g.r.IntN(900), g.r.IntN(100), g.r.IntN(9) > 0)
	}},
	{"cache", "debug", say("cache hit"), func(g *generator) string {
		return fmt.Sprintf(`"cache":{"key":"user:%d:profile","ttl_s":%d,"hit":true}`, 100_000+g.r.IntN(2000), g.r.IntN(300))
	}},
	{"cache", "info", say("cache evicted"), func(g *generator) string {
		return fmt.Sprintf(`"cache":{"region":"r%d","entries":%d,"freed_bytes":%d}`, g.r.IntN(8), g.r.IntN(5000),
			g.r.IntN(1<<24))
	}},
	{"kafka.consumer", "info", func(g *generator) string {
		return fmt.Sprintf("processed batch of %d messages", g.r.IntN(200))
	}, func(g *generator) string {
		return fmt.Sprintf(`"kafka":{"topic":"orders.v2","partition":%d,"offset":%d,"lag":%d}`, g.r.IntN(132),
			100_000+g.r.IntN(90_000), g.r.IntN(500))
	}},
	{"kafka.producer", "warn", say("send retried"), func(g *generator) string {
		return fmt.Sprintf(`"kafka":{"topic":"audit","attempt":%d,"reason":"timeout"}`, 1+g.r.IntN(5))
	}},
	{"db.pool", "debug", say("connection acquired"), func(g *generator) string {
		return fmt.Sprintf(`"db":{"pool":"primary","in_use":%d,"idle":%d,"wait_us":%d}`, g.r.IntN(40), g.r.IntN(40),
			g.r.IntN(8000))
	}},
	{"db.query", "warn", func(g *generator) string {
		return fmt.Sprintf("slow query took %d ms", 500+g.r.IntN(4000))
	}, func(g *generator) string {
		return fmt.Sprintf(`"db":{"statement":"SELECT * FROM %s WHERE id = $1","rows":%d,"duration_ms":%d}`,
			services[g.r.IntN(10)], g.r.IntN(900), 500+g.r.IntN(4000))
	}},
	{"auth", "info", say("token issued"), func(g *generator) string {
		return fmt.Sprintf(`"auth":{"subject":"u-%d","scope":"read write","expires_s":%d}`, 100_000+g.r.IntN(2000), 900)
	}},
	{"auth", "warn", say("login refused"), func(g *generator) string {
		return fmt.Sprintf(`"auth":{"subject":"u-%d","reason":"password","remote":"10.%d.%d.%d"}`,
			100_000+g.r.IntN(2000), g.r.IntN(256), g.r.IntN(256), g.r.IntN(256))
	}},
	{"payment", "info", say("payment captured"), func(g *generator) string {
		return fmt.Sprintf(`"payment":{"order":"o-%s","amount":%d.%02d,"currency":"EUR","provider":"p%d"}`, g.hex(10),
			g.r.IntN(400), g.r.IntN(100), g.r.IntN(4))
	}},
	{"payment", "error", say("payment refused"), func(g *generator) string {
		return fmt.Sprintf(`"payment":{"order":"o-%s","code":"R%02d"},"error":{"kind":"Refused","stack":"%s"}`,
			g.hex(10), g.r.IntN(30), trace(g))
	}},
	{"gc", "debug", say("collection"), func(g *generator) string {
		return fmt.Sprintf(`"runtime":{"pause_us":%d,"heap_mb":%d,"goroutines":%d}`, g.r.IntN(900), g.r.IntN(400),
			g.r.IntN(3000))
	}},
	{"feature", "info", say("flag evaluated"), func(g *generator) string {
		return fmt.Sprintf(`"feature":{"name":"flag-%d","variant":"%c"}`, g.r.IntN(60), 'a'+rune(g.r.IntN(3)))
	}},
	{"mail", "info", say("message queued"), func(g *generator) string {
		return fmt.Sprintf(`"mail":{"template":"t%d","to_hash":"%s","size":%d}`, g.r.IntN(20), g.hex(16), g.r.IntN(60_000))
	}},
	{"stock", "info", say("reservation changed"), func(g *generator) string {
		return fmt.Sprintf(`"stock":{"sku":"S%06d","delta":%d,"left":%d,"warehouse":"w%d"}`, g.r.IntN(20_000),
			g.r.IntN(9)-4, g.r.IntN(900), g.r.IntN(6))
	}},
	{"health", "debug", say("probe"), func(g *generator) string {
		return fmt.Sprintf(`"probe":{"kind":"ready","ok":true,"took_us":%d}`, g.r.IntN(500))
	}},
}

func say(text string) func(*generator) string { return func(*generator) string { return text } }

// trace returns a stack trace with escaped line ends.
func trace(g *generator) string {
	var b strings.Builder
	b.WriteString("Refused: card declined")
	for i := range 6 + g.r.IntN(10) {
		fmt.Fprintf(&b, `\n\tat com.example.%s.Handler.step%d(Handler.java:%d)`, services[g.r.IntN(10)], i, g.r.IntN(900))
	}
	return b.String()
}

// event returns a row of an application in Kubernetes, with two levels of nesting.
func (g *generator) event(b []byte) []byte {
	k := &kinds[g.r.IntN(len(kinds))]
	pod := g.pods[g.r.IntN(len(g.pods))]
	app, _, _ := strings.Cut(pod, "-")
	return fmt.Appendf(b,
		`{"ts":"%s","level":"%s","logger":"%s","msg":"%s","trace_id":"%s","span_id":"%s",%s,`+
			`"kubernetes":{"namespace":"shop","pod":"%s","container":"%s",`+
			`"node":"ip-10-0-%d-%d.eu-central-1.compute.internal","labels":{"app":"%s","version":"1.%d.%d","team":"%s"}}}`,
		g.tick().Format("2006-01-02T15:04:05.000000Z07:00"), k.level, k.logger, k.message(g), g.hex(32), g.hex(16),
		k.fields(g), pod, app, len(pod)%3, 10+len(app), app, 40+len(app)%5, len(pod)%7, app[:2])
}
