// Package loki tests Loki's API for reading with a real server: it sends Grafana's requests, and compares the responses
// to random queries with those of a simple implementation.
package loki

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"cordwood/router/loki/lines"
	"cordwood/router/loki/translate"
	"cordwood/test/cluster"
)

// server is a server and its entries.
type server struct {
	*cluster.Node
	t       *testing.T
	entries []sent
	// begin is the time of the first entry. end is the end of a range that contains all entries.
	begin, end int64
}

// sent is a pushed entry.
type sent struct {
	nanos    int64
	line     string
	labels   map[string]string
	metadata map[string]string
}

func start(t *testing.T) *server {
	t.Helper()
	s := &server{Node: cluster.New(t), t: t}
	s.Start()
	return s
}

// push pushes entries with the distance d, the last one at about the current time.
func (s *server) push(entries []sent, d time.Duration) {
	s.t.Helper()
	now := time.Now().UnixNano() / 1e9 * 1e9
	type stream struct {
		Stream map[string]string `json:"stream"`
		Values [][]any           `json:"values"`
	}
	var body struct {
		Streams []stream `json:"streams"`
	}
	for i := range entries {
		e := &entries[i]
		e.nanos = now - int64(len(entries)-i)*int64(d) + int64(i%7)
		body.Streams = append(body.Streams, stream{e.labels, [][]any{{strconv.FormatInt(e.nanos, 10), e.line, e.metadata}}})
	}
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.Post(s.HTTP+"/v1/loki/api/v1/push", "application/json", bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		answer, _ := io.ReadAll(res.Body)
		s.t.Fatalf("push: %d %s", res.StatusCode, answer)
	}
	s.entries = append(s.entries, entries...)
	s.begin, s.end = entries[0].nanos, now
}

// sql runs a statement.
func (s *server) sql(statement string) {
	s.t.Helper()
	res, err := http.PostForm(s.HTTP+"/v1/sql", url.Values{"sql": {statement}})
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(res.Body)
		s.t.Fatalf("%.200s: %d %.500s", statement, res.StatusCode, answer)
	}
}

// get sends a request and returns the status and the body of the response.
func (s *server) get(path string, header http.Header, params ...string) (int, []byte) {
	s.t.Helper()
	values := url.Values{}
	for i := 0; i < len(params); i += 2 {
		values.Add(params[i], params[i+1])
	}
	req, err := http.NewRequest(http.MethodGet, s.HTTP+"/v1/loki/api/v1/"+path+"?"+values.Encode(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, list := range header {
		req.Header[name] = list
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, body
}

// entry returns the entry before a pipeline.
func (e *sent) entry(table string) *lines.Entry {
	out := &lines.Entry{
		Nanos: e.nanos, Line: e.line, Labels: map[string]string{"table": table},
		Metadata: map[string]string{},
	}
	for name, v := range e.labels {
		out.Labels[name] = v
	}
	for name, v := range e.metadata {
		out.Metadata[name] = v
	}
	out.Labels["service_name"] = table
	if app := e.labels["app"]; app != "" {
		out.Labels["service_name"] = app
	}
	out.Metadata["detected_level"] = translate.LevelOfLine(e.line)
	return out
}

// item is a series or a stream of a response.
type item struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
	Values [][2]any          `json:"values"`
	Stream map[string]string `json:"stream"`
}

// result is the response to a query.
type result struct {
	Data struct {
		ResultType string `json:"resultType"`
		Result     []item `json:"result"`
	} `json:"data"`
	Message string `json:"message"`
}

func (s *server) query(path string, params ...string) (int, *result) {
	s.t.Helper()
	status, body := s.get(path, nil, params...)
	var out result
	if err := json.Unmarshal(body, &out); err != nil {
		s.t.Fatalf("%s %q: %d %s: %v", path, params, status, body, err)
	}
	return status, &out
}

func nanos(n int64) string { return strconv.FormatInt(n, 10) }
