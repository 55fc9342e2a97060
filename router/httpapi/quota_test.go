package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
)

// spent is a database that has used up a quota. It admits what it is asked in the first steps.
type spent struct {
	admits int // calls that are admitted
	calls  int
	back   int64 // bytes that were given back
}

func (s *spent) Ready(database string) error { return s.Take(database, 0, 0) }

func (s *spent) Take(database string, _, _ int64) error {
	if s.calls++; s.calls <= s.admits {
		return nil
	}
	q := errs.Quota{
		Database: database, Name: "quota.ingest_rows_per_second", Limit: 100, Value: 250, Unit: "rows/s",
	}
	return errs.OverQuota(q, 10*time.Second, "database %s is sent 250 rows/s", database)
}

func (s *spent) Owe(string, int64, int64) {}

func (s *spent) GiveBack(_ string, _, bytes int64) { s.back += bytes }

// TestQuotaInEachProtocol checks what each protocol answers to a request beyond a quota, whether it is refused before
// its body is read, before its pipeline runs, or with its rows. Elasticsearch's bulk requests, Splunk, journald and
// Firehose get 503, because their clients lose data on 429.
func TestQuotaInEachProtocol(t *testing.T) {
	const jsonType, bulk = "application/json", `{"index":{"_index":"logs"}}` + "\n" + `{"a":1}` + "\n"
	for _, tt := range []struct {
		path, body, contentType string
		status                  int
		text                    string
	}{
		{"/v1/ingest?table=t&pipeline_name=svc_identity", `{"a":1}`, jsonType, 429, `"quota":{"database":"public"`},
		{"/v1/elasticsearch/_bulk", bulk, jsonType, 503, `"status":429`},
		{"/loki/api/v1/push", lokiBody, jsonType, 429, "rows/s"},
		{
			"/v1/otlp/v1/logs", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}`, jsonType,
			429, `"code":8`,
		},
		{"/v1/splunk/services/collector", `{"event":1}`, jsonType, 503, `"code":9`},
		{"/api/v2/logs", `[{"message":"m"}]`, jsonType, 429, `"status":"429"`},
		{"/v1/firehose", `{"requestId":"i","records":[{"data":"eA=="}]}`, jsonType, 503, `"requestId":"i"`},
		{"/v1/heroku", "30 <40>1 - host heroku web.3 - up\n", "application/logplex-1", 503, ""},
		{"/gelf", `{"version":"1.1","host":"h","short_message":"m"}`, jsonType, 429, ""},
		{
			"/v1/journald/upload", "__CURSOR=s=1;i=1\n__REALTIME_TIMESTAMP=1700000000000000\nMESSAGE=m\n\n",
			"application/vnd.fdo.journal", 503, "rows/s",
		},
	} {
		for _, admits := range []int{0, 1, 2} {
			t.Run(fmt.Sprint(tt.path, " after ", admits), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					quotas := &spent{admits: admits}
					f := newFixture(t, func(c *Config) { c.Quotas = quotas })
					w := f.call("POST", tt.path, tt.body, "Content-Type", tt.contentType, "X-Amz-Firehose-Request-Id", "i")
					if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) {
						t.Errorf("%d %s", w.Code, w.Body)
					}
					after, err := strconv.Atoi(w.Header().Get("Retry-After"))
					if err != nil || after < 8 || after > 12 {
						t.Errorf("Retry-After %d, %v", after, err)
					}
					if f.writer.calls != 0 {
						t.Error("rows were stored")
					}
					if admits == 2 && quotas.back == 0 && quotas.calls > 2 {
						t.Error("the bytes were not given back")
					}
				})
			})
		}
	}
}

// counted is a database without limits that counts rows.
type counted struct{ rows int64 }

func (c *counted) Ready(string) error { return nil }

func (c *counted) Take(_ string, rows, _ int64) error {
	c.rows += rows
	return nil
}

func (c *counted) Owe(_ string, rows, _ int64)      { c.rows += rows }
func (c *counted) GiveBack(_ string, rows, _ int64) { c.rows -= rows }

// TestRejectsCountAsRows checks that records that are kept as rejects count for the quota of rows, and others that are
// left out do not.
func TestRejectsCountAsRows(t *testing.T) {
	for kept, want := range map[string]int64{"store": 3, "drop": 1} {
		quotas := &counted{}
		f := newFixture(t, func(c *Config) { c.Quotas = quotas })
		w := f.call("POST", "/v1/ingest?table=t&pipeline_name=svc_identity&skip_error=true&on_reject="+kept,
			"{\"a\":1}\nbad\nbad\n", "Content-Type", "application/x-ndjson")
		if w.Code != 200 || quotas.rows != want {
			t.Errorf("%s: %d %s, %d rows, want %d", kept, w.Code, w.Body, quotas.rows, want)
		}
	}
}
