// Package api compares the description of the HTTP API with a real server: it sends valid and
// invalid requests to every operation, and requests and answers must match /v1/openapi.json.
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

// users are the users of the server; the names show their permissions.
const users = "static_user_provider:cmd:admin=a,ingest:wo=i,query:ro=q"

// credentials returns the value of the header Authorization for a user; "" sends none.
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

// server is a server with its description.
type server struct {
	*cluster.Node
	doc    *openapi3.T
	router routers.Router
}

// registerDecoders makes the validator treat bodies without a decoder as text.
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

// describe reads the server's description.
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

// request is a request to send.
type request struct {
	method, path, body string
	header             []string // alternating names and values
	user               string   // the default is admin; "-" sends none
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

// answer is the answer to a request.
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

// described finds the operation of a request, and the input for its validation.
func (s *server) described(r request) (*openapi3filter.RequestValidationInput, error) {
	req, err := r.make("")
	if err != nil {
		return nil, err
	}
	// The request as a server receives it.
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

// ownHeader reports whether the API sets a header of answers, which must then be described.
func ownHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "x-svc-") || strings.HasPrefix(name, "x-ingest-") || name == "retry-after" ||
		name == "upgrade"
}

// checkAnswer compares an answer with the description.
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
	// Only the request for logs is answered without an error body when its time limit is exceeded.
	options.ExcludeResponseBody = a.status == http.StatusRequestTimeout && len(a.body) == 0 &&
		strings.HasPrefix(in.Route.Operation.OperationID, "ingest")
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &options,
	})
}
