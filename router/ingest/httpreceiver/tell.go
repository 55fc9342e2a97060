package httpreceiver

import (
	"net/http"
	"strconv"

	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
)

// maxWarnings limits the number of warning headers of an answer, because a request may have batches for a thousand
// tables.
const maxWarnings = 20

// tell sets headers that report values that were changed when stored: the warnings, the number of records that the
// pipeline dropped, and the number of rows older than the ttl of their table. These headers work with every
// protocol over HTTP.
func tell(h http.Header, outs []ingest.Outcome) {
	dropped, expired, warnings := 0, 0, 0
	for i := range outs {
		dropped += outs[i].Dropped
		expired += outs[i].Expired
		for _, warning := range outs[i].Warnings {
			if warnings++; warnings <= maxWarnings {
				h.Add(exchange.HeaderWarnings, exchange.HeaderText(warning))
			}
		}
	}
	if dropped > 0 {
		h.Set(exchange.HeaderDropped, strconv.Itoa(dropped))
	}
	if expired > 0 {
		h.Set(exchange.HeaderExpired, strconv.Itoa(expired))
	}
}

// WriteText answers with a line of plain text, for protocols that do not define answers.
func WriteText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
