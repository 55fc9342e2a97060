package httpapi

import (
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/meta/metaclient"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access/token"
	"cordwood/router/httpapi/auth"
)

// tokenFixture returns a server with a token that may only ingest into public.web, and one that may do that and read.
func tokenFixture(t *testing.T, change ...func(*Config)) (f *fixture, ingestOnly, other string) {
	t.Helper()
	users, err := auth.Open(auth.Config{Stored: true})
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string, only bool, more rights.Set) string {
		text, id := token.New()
		hash := token.Hash(text)
		users.Apply(metaclient.AccessChanges{Tokens: []*metapb.AccessToken{{
			Name: name, Id: id, Hash: hash[:], IngestOnly: only, Grants: []*metapb.AccessGrant{{
				Kind: uint32(rights.Tables), Database: "public", Name: "web",
				Privileges: uint32(rights.Insert | rights.Create | more),
			}},
		}}})
		return text
	}
	ingestOnly, other = add("only", true, 0), add("other", false, rights.Select)
	change = append(change, func(c *Config) { c.Auth = users })
	return newFixture(t, change...), ingestOnly, other
}

// TestTokensOfProtocols sends tokens in each place that a protocol has for them.
func TestTokensOfProtocols(t *testing.T) {
	f, only, other := tokenFixture(t)
	basic := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	id := only[3:13]
	const (
		event  = `{"event":1}`
		logs   = `[{"message":"m"}]`
		bulk   = "{\"create\":{}}\n{\"a\":1}\n"
		hec    = "/v1/splunk/services/collector"
		native = "/v1/ingest?pipeline_name=svc_identity"
		es     = "/v1/elasticsearch/web/_bulk"
	)
	for _, tt := range []struct {
		path, body string
		headers    []string
		want       int
	}{
		{native, logs, []string{"Authorization", "Bearer " + only}, 200},
		{native, logs, []string{"Authorization", "Basic " + basic("x:"+only)}, 200},
		{native, logs, []string{"x-svc-auth", "Bearer " + only, "Authorization", "Basic " + basic("no:one")}, 200},
		{native, logs, []string{"Authorization", "Splunk " + only}, 401},
		{native, logs, []string{"Authorization", "ApiKey " + only}, 401},
		{native + "&table=web", logs, []string{"Authorization", "Bearer " + only}, 200},
		{native + "&table=other", logs, []string{"Authorization", "Bearer " + only}, 403},
		{native + "&db=other", logs, []string{"Authorization", "Bearer " + only}, 403},
		{hec, event, []string{"Authorization", "Splunk " + only}, 200},
		{hec, event, []string{"Authorization", "Splunk x:" + only}, 200},
		{hec, event, []string{"Authorization", "Splunk " + basic("x:"+only)}, 200},
		{hec, event, []string{"Authorization", "Splunk " + basic(only)}, 200},
		{hec, event, []string{"Authorization", "Bearer " + only}, 200},
		{hec + "?token=" + only, event, nil, 200},
		{hec + "?token=" + other, event, nil, 403}, // Splunk's answer to an invalid token
		{hec + "?token=" + only, event, []string{"Authorization", "Splunk " + only}, 200},
		{hec + "?token=" + only, event, []string{"Authorization", "Splunk " + other}, 401},
		{hec + "?token=" + only, event, []string{"x-svc-auth", "Bearer " + other}, 401},
		{es, bulk, []string{"Authorization", "ApiKey " + only}, 200},
		{es, bulk, []string{"Authorization", "apikey " + basic(id+":"+only)}, 200},
		{es, bulk, []string{"Authorization", "ApiKey " + basic(id+":"+only[14:])}, 200},
		{es, bulk, []string{"Authorization", "ApiKey " + basic("x:"+only[14:])}, 401},
		{es, bulk, []string{"Authorization", "ApiKey zzz"}, 401},
		{"/api/v2/logs", logs, []string{"DD-API-KEY", only}, 202},
		{"/api/v2/logs?dd-api-key=" + only, logs, nil, 202},
		{"/api/v2/logs?dd-api-key=" + other, logs, nil, 403},
		{"/api/v2/logs?dd-api-key=" + only, logs, []string{"DD-API-KEY", other}, 403},
		{"/api/v2/logs", logs, []string{"DD-API-KEY", only, "Authorization", "Bearer " + other}, 403},
		{"/v1/input/" + only, logs, nil, 202},
		// Other tables of the database: the records are refused, and the answer says so.
		{"/api/v2/logs?table=other", logs, []string{"DD-API-KEY", only}, 403},
		{"/gelf?table=other", `{"version":"1.1","host":"h","short_message":"x"}`, []string{
			"Authorization", "Bearer " + only,
		}, 403},
		{"/v1/loki/loki/api/v1/push?table=other", `{"streams":[{"stream":{},"values":[["1","x"]]}]}`, []string{
			"Authorization", "Bearer " + only,
		}, 403},
		{"/v1/firehose", `{"requestId":"i","records":[{"data":"eA=="}]}`, []string{
			"X-Amz-Firehose-Access-Key", only, "X-Amz-Firehose-Request-Id", "i",
		}, 200},
	} {
		w := f.call("POST", tt.path, tt.body, append(tt.headers, "Content-Type", "application/json")...)
		if w.Code != tt.want || tt.want == 200 && strings.Contains(w.Body.String(), `"errors":true`) {
			t.Errorf("%s %v: %d %s, want %d", tt.path, tt.headers, w.Code, w.Body, tt.want)
		}
		if strings.Contains(w.Body.String(), only[14:]) {
			t.Errorf("%s: the answer has the secret: %s", tt.path, w.Body)
		}
	}
}

// TestRepeatedHeaders checks that the second of two different headers is not ignored: a proxy may have checked it.
func TestRepeatedHeaders(t *testing.T) {
	f, only, other := tokenFixture(t)
	for _, name := range []string{"Authorization", "X-Svc-Auth"} {
		for second, want := range map[string]int{"Bearer " + only: 200, "Bearer " + other: 401, "Basic eDp5": 401} {
			r := httptest.NewRequest("POST", "/v1/ingest?pipeline_name=svc_identity", strings.NewReader(`[{"message":"m"}]`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Add(name, "Bearer "+only)
			r.Header.Add(name, second)
			w := httptest.NewRecorder()
			f.Handler().ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s, and %s: %d %s", name, second, w.Code, w.Body)
			}
		}
	}
}
