// Package api holds the description of the HTTP API against a real server: every operation
// is asked, well and badly, and requests and answers must be as /v1/openapi.json says.
package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"cordwood/test/cluster"
)

// users are those of the server; the names say what they may do.
const users = "static_user_provider:cmd:admin=a,ingest:wo=i,query:ro=q"

// credentials are values of the header Authorization, by who sends them; "" is nobody.
func credentials(who string) string {
	password := map[string]string{"admin": "a", "ingest": "i", "query": "q", "wrong": "x"}[who]
	if who == "wrong" {
		who = "admin"
	}
	if who == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(who+":"+password))
}

// server is a server with its own description of itself.
type server struct {
	*cluster.Node
	doc    *openapi3.T
	router routers.Router
}

// registerDecoders has bodies that the validator has no decoder for taken as text.
var registerDecoders = sync.OnceFunc(func() {
	for _, kind := range []string{
		"application/x-ndjson", "application/sql", "text/yaml", "application/yaml", "application/x-yaml", "text/csv",
		"text/html", "text/event-stream",
		"application/vnd.apache.arrow.stream", "application/vnd.apache.parquet",
	} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.PlainBodyDecoder)
	}
})

func start(t *testing.T, args ...string) *server {
	t.Helper()
	registerDecoders()
	s := &server{Node: cluster.New(t, append([]string{"--user-provider", users}, args...)...)}
	s.Start()
	s.describe(t, "/v1/openapi.json")
	return s
}

// describe reads the server's description of itself.
func (s *server) describe(t *testing.T, path string) {
	t.Helper()
	a := s.send(t, request{method: "GET", path: path})
	var err error
	if s.doc, err = openapi3.NewLoader().LoadFromData(a.body); err != nil {
		t.Fatal(err)
	}
	if err := s.doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s.router, err = gorillamux.NewRouter(s.doc); err != nil {
		t.Fatal(err)
	}
}

// request is what is sent.
type request struct {
	method, path, body string
	header             []string // names and values in turn
	user               string   // default admin; "-" is nobody
}

func (r request) make(base string) (*http.Request, error) {
	out, err := http.NewRequest(r.method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.body == "" {
		out.Body = http.NoBody
	}
	switch r.user {
	case "":
		out.Header.Set("Authorization", credentials("admin"))
	case "-":
	default:
		out.Header.Set("Authorization", credentials(r.user))
	}
	for i := 0; i+1 < len(r.header); i += 2 {
		out.Header.Set(r.header[i], r.header[i+1])
	}
	return out, nil
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (s *server) send(t *testing.T, r request) answer {
	t.Helper()
	req, err := r.make(s.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return answer{resp.StatusCode, resp.Header, nil}
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

// described finds the operation of a request, and what there is to say about it.
func (s *server) described(r request) (*openapi3filter.RequestValidationInput, error) {
	req, err := r.make("")
	if err != nil {
		return nil, err
	}
	// As a server sees it.
	seen := httptest.NewRequest(r.method, r.path, req.Body)
	seen.Header = req.Header
	route, vars, err := s.router.FindRoute(seen)
	if err != nil {
		return nil, err
	}
	return &openapi3filter.RequestValidationInput{
		Request: seen, PathParams: vars, Route: route,
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true,
			AuthenticationFunc: func(_ context.Context, in *openapi3filter.AuthenticationInput) error {
				if in.RequestValidationInput.Request.Header.Get("Authorization") == "" {
					return errors.New("no user")
				}
				return nil
			},
		},
	}, nil
}

// ownHeaders are the headers of answers that the API makes, and that must be described.
func ownHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "x-svc-") || strings.HasPrefix(name, "x-ingest-") || name == "retry-after" ||
		name == "upgrade"
}

// checkAnswer holds an answer against the description.
func checkAnswer(in *openapi3filter.RequestValidationInput, a answer) error {
	response := in.Route.Operation.Responses.Status(a.status)
	if response == nil {
		return fmt.Errorf("status %d is not described", a.status)
	}
	for name := range a.header {
		known := false
		for described := range response.Value.Headers {
			known = known || strings.EqualFold(name, described)
		}
		if ownHeader(name) && !known {
			return fmt.Errorf("status %d: the header %s is not described", a.status, name)
		}
	}
	if a.header.Get("Content-Type") == "application/json" && in.Request.Method != http.MethodHead &&
		(!bytes.HasSuffix(a.body, []byte("\n")) || bytes.HasSuffix(a.body, []byte("\n\n"))) {
		return fmt.Errorf("status %d: the JSON does not end with one line end: %q", a.status, a.body[max(0, len(a.body)-20):])
	}
	options := *in.Options
	// Only a request for logs whose time was up is answered without the body of errors.
	options.ExcludeResponseBody = a.status == http.StatusRequestTimeout && len(a.body) == 0 &&
		strings.HasPrefix(in.Route.Operation.OperationID, "ingest")
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &options,
	})
}
