package webtest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// shopLogs are rows of a shop within the last hour, with a burst of errors in the payments.
func shopLogs() []map[string]any {
	texts := []string{
		"order %d accepted", "cache refreshed in %d ms", "session %d renewed", "request served in %d ms",
		"user %d signed in",
	}
	now := time.Now().UnixMilli()
	rows := make([]map[string]any, 3600)
	for i := range rows {
		service := []string{"cart", "gateway", "payment", "search"}[i*7%4]
		row := map[string]any{
			"ts": now - int64(len(rows)-i)*1000, "level": "INFO", "msg": fmt.Sprintf(texts[i*13%5], i*37%4000),
			"service": service, "status": 200, "kubernetes.namespace": "shop", "took": float64(i*31%997) / 10,
			"kubernetes.pod": fmt.Sprintf("%s-dcea6a4b-%d", service, i%3), "trace_id": fmt.Sprintf("%016x", i*2654435761),
		}
		switch {
		case i > 2400 && i < 2700 && i%2 == 0:
			row["level"], row["status"], row["service"] = "ERROR", 502, "payment"
			row["msg"] = fmt.Sprintf("timeout after %d ms while calling payment", 1000+i%500)
		case i%37 == 0:
			row["level"], row["msg"] = "WARN", fmt.Sprintf("slow query: %d ms", 200+i%700)
		case i%211 == 0:
			row["level"], row["status"], row["msg"] = "ERROR", 500, "connection reset by 10.0.2.7"
		case i%9 == 0:
			row["level"], row["msg"] = "DEBUG", fmt.Sprintf("pool has %d idle connections", i%40)
		}
		rows[i] = row
	}
	return rows
}

const accessLog = `version: 2
processors:
  - dissect:
      field: message
      pattern: '%{client} - %{user} [%{at}] "%{method} %{path} %{}" %{status} %{bytes}'
  - date: {field: at, formats: ['%d/%b/%Y:%H:%M:%S %z']}
  - vrl:
      source: |
        .slow = to_int!(.bytes) > 5000
        .
  - select: {type: exclude, field: message}
transform:
  - {field: at, type: timestamp, index: timestamp}
  - {field: client, type: string, index: skipping}
  - {fields: [status, bytes], type: int64}
`

const accessLines = `10.1.2.3 - ann [05/Jan/2026:10:11:12 +0100] "GET /cart?id=7 HTTP/2" 200 5210
10.1.2.4 - - [05/Jan/2026:10:11:13] "POST /pay HTTP/1.1" 502 157
10.1.7.7 - - [05/Jan/2026:10:11:13 +0100] "GET /slow HTTP/2" 200 88114
10.1.2.9 - bo [05/Jan/2026:10:11:14 +0100] "GET / HTTP/2" 200 1024`

// TestScreenshots makes the pictures of README.md and docs/ui.md in the folder WEB_SHOTS: see `make screenshots`.
func TestScreenshots(t *testing.T) {
	if os.Getenv("WEB_SHOTS") == "" {
		t.Skip("WEB_SHOTS names no folder")
	}
	s := start(t)
	s.ingest("app", shopLogs()...)
	s.storePipeline("nginx", accessLog)
	for _, theme := range []string{"light", "dark"} {
		b := open(t, s.url+"/dashboard/explore?t=app&cols=service")
		b.do(chromedp.EmulateViewport(1280, 800))
		b.theme(theme)
		b.until(`document.querySelectorAll('[data-ui=bar]').length > 10 && document.querySelector('[data-ui=value]')`)
		// The first search after the rows came, or another test beside this one, makes it look slow.
		for range 20 {
			if eval[bool](b, `/in \d\d? ms/.test(document.querySelector('.sum').textContent)`) {
				break
			}
			b.click(`[data-ui=run]`)
			b.until(`!document.querySelector('.progress.on')`)
		}
		b.clickByMouse(`[data-ui=row][data-level=warn]`)
		b.until(`document.querySelector('[data-ui=detail]')`)
		b.until(`document.fonts.status === 'loaded'`)
		b.shoot("explore-" + theme)
	}
	b := open(t, s.url+"/dashboard/pipelines?name=nginx&t=access")
	b.do(chromedp.EmulateViewport(1280, 800))
	b.theme("light")
	b.click(`[data-ui=paste]`)
	b.fill(`[data-ui=samples-text]`, accessLines)
	b.click(`[data-ui=take-samples]`)
	b.clickByMouse(`[data-ui=sample][data-outcome=failed] button`)
	b.until(`document.querySelector('[data-ui=step][data-outcome=failed]') && document.fonts.status === 'loaded'`)
	b.shoot("pipeline")
}
