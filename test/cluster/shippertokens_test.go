package cluster

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shipper is a client of one protocol that sends a record with a token.
type shipper struct {
	name, path, body string
	// header has alternating names and values. TOKEN stands for the token, ID and KEY for its parts, BASIC for the
	// base64 of a user and the token, and APIKEY for that of the id and the key. The path can contain TOKEN, too.
	header []string
	// The statuses: without the right, with a token that is not valid, and beyond a quota.
	forbidden, invalid, over int
}

var shippers = []shipper{
	{
		"Vector or curl", "/v1/ingest?pipeline_name=svc_identity", `[{"message":"x"}]`,
		[]string{"Authorization", "Bearer TOKEN", "Content-Type", "application/json"},
		403, 401, 429,
	},
	{
		"any client with Basic", "/v1/ingest?pipeline_name=svc_identity", `[{"message":"x"}]`,
		[]string{"Authorization", "Basic BASIC", "Content-Type", "application/json"},
		403, 401, 429,
	},
	{
		"a client behind a proxy that needs Authorization itself", "/v1/ingest?pipeline_name=svc_identity",
		`[{"message":"x"}]`,
		[]string{
			"Authorization", "Basic cHJveHk6cHJveHk=", "x-svc-auth", "bearer TOKEN", "Content-Type", "application/json",
		},
		403, 401, 429,
	},
	{
		"Promtail", "/v1/loki/api/v1/push", `{"streams":[{"stream":{"app":"a"},"values":[["NOW","x"]]}]}`,
		[]string{"Authorization", "Basic BASIC", "Content-Type", "application/json"},
		403, 401, 429,
	},
	{
		"the OpenTelemetry collector", "/v1/otlp/v1/logs", `{"resourceLogs":[{"scopeLogs":[{"logRecords":` +
			`[{"timeUnixNano":"NOW","body":{"stringValue":"x"}}]}]}]}`,
		[]string{"Authorization", "Bearer TOKEN", "Content-Type", "application/json"},
		403, 401, 429,
	},
	{
		"Filebeat", "/v1/elasticsearch/_bulk", "{\"create\":{}}\n{\"message\":\"x\"}\n",
		[]string{"Authorization", "ApiKey APIKEY", "Content-Type", "application/x-ndjson"},
		403, 401, 503,
	},
	{
		"Logstash with a whole key", "/v1/elasticsearch/_bulk", "{\"create\":{}}\n{\"message\":\"x\"}\n",
		[]string{"Authorization", "ApiKey TOKEN", "Content-Type", "application/x-ndjson"},
		403, 401, 503,
	},
	{
		"Fluent Bit to Splunk", "/v1/splunk/services/collector/event", `{"event":"x"}`,
		[]string{"Authorization", "Splunk TOKEN"},
		403, 403, 503,
	},
	{
		"a Splunk logger with Basic", "/v1/splunk/services/collector/event", `{"event":"x"}`,
		[]string{"Authorization", "Basic BASIC"},
		403, 403, 503,
	},
	{
		"a Splunk client with a parameter", "/v1/splunk/services/collector/raw?token=TOKEN", "x", nil, 403, 403, 503,
	},
	{
		"the Datadog agent", "/v1/datadog/api/v2/logs", `[{"message":"x"}]`,
		[]string{"DD-API-KEY", "TOKEN", "Content-Type", "application/json"},
		403, 403, 429,
	},
	{
		"a Datadog client with a parameter", "/v1/datadog/api/v2/logs?dd-api-key=TOKEN", `[{"message":"x"}]`,
		[]string{"Content-Type", "application/json"},
		403, 403, 429,
	},
	{
		"Amazon Data Firehose", "/v1/firehose", `{"requestId":"NOW","timestamp":1,` +
			`"records":[{"data":"eyJtZXNzYWdlIjoieCJ9"}]}`,
		[]string{
			"X-Amz-Firehose-Access-Key", "TOKEN", "X-Amz-Firehose-Request-Id", "NOW", "Content-Type", "application/json",
		},
		403, 401, 503,
	},
	{
		"systemd-journal-upload", "/v1/journald/upload", "__REALTIME_TIMESTAMP=1700000000000000\nMESSAGE=x\n\n",
		[]string{"Authorization", "Basic BASIC", "Content-Type", "application/vnd.fdo.journal"},
		403, 401, 503,
	},
	{
		"Heroku", "/v1/heroku", "68 <13>1 2026-01-01T00:00:00+00:00 host app web.1 - hello from heroku..",
		[]string{"Authorization", "Basic BASIC", "Content-Type", "application/logplex-1", "Logplex-Msg-Count", "1"},
		403, 401, 503,
	},
}

// send sends the record with a token.
func (s *shipper) send(t *testing.T, n *Node, token string) *Answer {
	t.Helper()
	parts := strings.Split(token, "_")
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	fill := strings.NewReplacer("TOKEN", token, "BASIC", encode("any:"+token), "APIKEY", encode(parts[1]+":"+parts[2]),
		"NOW", fmt.Sprint(time.Now().UnixNano()))
	header := make([]string, len(s.header))
	for i, text := range s.header {
		header[i] = text
		if i%2 == 1 {
			header[i] = fill.Replace(text)
		}
	}
	a, err := n.Do(http.MethodPost, fill.Replace(s.path), strings.NewReader(fill.Replace(s.body)), header...)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return a
}

// TestShippersWithTokens sends records by every protocol with tokens in all places in which clients send them. A token
// of the table is accepted. One of another table, one that only reads, one that was dropped and one that has expired
// get the status of the protocol, and a quota the one after which clients send again. What is accepted is stored, and
// nothing else.
func TestShippersWithTokens(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("root=pw\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := New(t, "--user-file", users)
	root.Start()
	root.Client = &http.Client{Transport: signed{"root", "pw"}}
	root.Rows(t, "CREATE DATABASE app")
	good := newToken(t, root, "CREATE TOKEN good FOR INGEST INTO app.web")
	other := newToken(t, root, "CREATE TOKEN other FOR INGEST INTO app.other")
	reads := newToken(t, root, "CREATE TOKEN reads FOR QUERY ON app.web")
	dropped := newToken(t, root, "CREATE TOKEN dropped FOR INGEST INTO app.web")
	root.Rows(t, "DROP TOKEN dropped")
	expired := newToken(t, root, "CREATE TOKEN expired FOR INGEST INTO app.web EXPIRES IN '1s'")
	Eventually(t, 20*time.Second, func() error {
		late := &Node{HTTP: root.HTTP, Client: &http.Client{Transport: bearer(expired)}}
		a, err := late.Do("GET", "/v1/openapi.json", nil)
		if err == nil && a.Status != http.StatusUnauthorized {
			err = fmt.Errorf("a token that has expired: %d", a.Status)
		}
		return err
	})
	from := make([]*Node, len(shippers))
	for i := range shippers {
		s := &shippers[i]
		// Each has an address of its own, because invalid tokens are counted by address.
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}}
		transport := &http.Transport{DialContext: dialer.DialContext}
		from[i] = &Node{HTTP: root.HTTP, Client: &http.Client{Transport: transport}}
		elsewhere := *s
		separator := "?"
		if strings.Contains(s.path, "?") {
			separator = "&"
		}
		elsewhere.path += separator + url.Values{"db": {"app"}, "table": {"web"}}.Encode()
		for _, try := range []struct {
			what, token string
			by          *shipper
			status      int
		}{
			{"a token of the table", good, s, 0},
			{"a token of the table, which the request names", good, &elsewhere, 0},
			{"a token of another table", other, &elsewhere, s.forbidden},
			{"a token that only reads", reads, &elsewhere, s.forbidden},
			{"a token that was dropped", dropped, s, s.invalid},
			{"a token that has expired", expired, s, s.invalid},
			{"a token with a wrong end", good[:len(good)-3] + "000", s, s.invalid},
		} {
			a := try.by.send(t, from[i], try.token)
			if refused := strings.Contains(string(a.Body), `"errors":true`); refused && a.Status == http.StatusOK {
				a.Status = http.StatusForbidden // of the item of a bulk request
				if !strings.Contains(string(a.Body), `"status":403`) {
					t.Errorf("%s with %s: %.300s", s.name, try.what, a.Body)
				}
			}
			switch {
			case try.status == 0 && a.Status/100 != 2, try.status != 0 && a.Status != try.status:
				t.Errorf("%s with %s: %d, want %d: %.300s", s.name, try.what, a.Status, try.status, a.Body)
			case strings.Contains(string(a.Body), good[14:]):
				t.Errorf("%s with %s: the answer has the secret", s.name, try.what)
			}
		}
	}
	if rows := root.Rows(t, "SELECT count(*) FROM app.web"); fmt.Sprint(rows[0][0]) != fmt.Sprint(2*len(shippers)) {
		t.Errorf("%v rows are stored, want %d", rows[0][0], 2*len(shippers))
	}
	if rows := root.Rows(t, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'app'"); fmt.Sprint(
		rows[0][0]) != "1" {
		t.Errorf("%v tables of app", rows[0][0])
	}
	root.Rows(t, "ALTER DATABASE app SET 'quota.stored_bytes' = '0'")
	for i := range shippers {
		s := &shippers[i]
		Eventually(t, 20*time.Second, func() error {
			a := s.send(t, from[i], good)
			if a.Status != s.over || a.Header.Get("Retry-After") == "" {
				return fmt.Errorf("%s beyond the quota: %d, Retry-After %q, want %d: %.300s", s.name, a.Status,
					a.Header.Get("Retry-After"), s.over, a.Body)
			}
			return nil
		})
	}
}
