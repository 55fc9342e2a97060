package rpcport

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHTTP checks that an HTTP client gets an answer that explains that the port is wrong, whatever its request is.
func TestHTTP(t *testing.T) {
	wrongPort(t, listen(t, time.Minute))
	wrongPort(t, open(t, Config{Credentials: knows(t, "me", ours)}, nil))
}

func wrongPort(t *testing.T, p *Port) {
	t.Helper()
	for method, body := range map[string]string{
		"GET": "", "POST": strings.Repeat("x", 8<<10), "DELETE": "", "PUT": "y", "OPTIONS": "",
	} {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.Addr().String()+"/v1/sql",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusBadRequest || string(text) != httpText {
			t.Errorf("%s: %d %q, %v", method, resp.StatusCode, text, err)
		}
	}
}
