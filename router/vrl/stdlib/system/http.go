package system

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// The limits of a request: how long a run waits for the answer, and how many bytes of it are read.
const (
	httpTimeout = 10 * time.Second
	maxHTTPBody = 8 << 20
)

var httpMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}

var httpRequest = &fn.Function{
	Name:  "http_request",
	Group: fn.System,
	Doc: "Sends an HTTP request and returns the body of the answer, whatever its status is. " +
		"The program waits for it up to " +
		"10 seconds. Answers of more than 8 MiB are refused.",
	Params: []fn.Param{
		{Name: "url", Doc: "The URL of the request.", Kind: kind.String},
		{Name: "method", Doc: "The method, in any case.", Kind: kind.String, Optional: true, Default: value.NewString("get")},
		{
			Name: "headers", Doc: "The headers; their values are strings.", Kind: kind.Object, Optional: true,
			Default: value.NewObject(value.MakeFields(0)).Freeze(),
		},
		{Name: "body", Doc: "The body of the request.", Kind: kind.String, Optional: true, Default: value.NewString("")},
		{Name: "http_proxy", Doc: "The URL of the proxy for http.", Kind: kind.String, Optional: true},
		{Name: "https_proxy", Doc: "The URL of the proxy for https.", Kind: kind.String, Optional: true},
		{
			Name: "redact_headers", Doc: "Whether the values of headers are left out of error messages.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(true),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Effect:   true,
	Needs:    fn.Network,
	Errors:   []string{"the method, a header or a URL is not valid", "no answer arrives, or it is too long"},
	Examples: []fn.Example{
		{Title: "not permitted", Source: `http_request("https://example.com") ?? "no answer"`, Result: `"no answer"`},
	},
	Impl: fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
		method := strings.ToUpper(args[1].Text())
		if !slices.Contains(httpMethods, method) {
			return f.Failf("Unsupported HTTP method: %s", args[1].Text())
		}
		ctx, cancel := context.WithTimeout(context.Background(), httpTimeout)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, args[0].Text(), strings.NewReader(args[3].Str()))
		if err != nil {
			return f.FailErr("HTTP request failed: ", err)
		}
		for _, h := range args[2].Object().Peek() {
			if !h.Value.IsString() {
				return f.Failf("HTTP request failed: header %q must be a string, not %v", h.Key, h.Value.Kind())
			}
			r.Header.Set(h.Key, h.Value.Text())
		}
		client, err := httpClientFor(args[4], args[5])
		if err != nil {
			return f.FailErr("HTTP request failed: ", err)
		}
		body, err := fetch(client, r, min(maxHTTPBody, f.Left().Bytes))
		if err != nil {
			if !args[6].Bool() {
				err = fmt.Errorf("%w (headers: %v)", err, r.Header)
			}
			return f.FailErr("HTTP request failed: ", err)
		}
		return value.NewBytes(body), f.Reserve(len(body))
	}},
}

func fetch(client *http.Client, r *http.Request, limit int) ([]byte, error) {
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, int64(limit)+1))
	if err == nil && len(body) > limit {
		err = fmt.Errorf("the answer from %s is longer than %d bytes", r.URL.Redacted(), limit)
	}
	return body, err
}

// httpClient makes requests without a proxy; it keeps connections for the next ones.
var httpClient = &http.Client{Transport: newTransport()}

func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	return t
}

// httpClientFor returns the client for proxies; each may be undefined.
func httpClientFor(proxies ...value.Value) (*http.Client, error) {
	var urls [2]*url.URL
	given := false
	for i, p := range proxies {
		if !p.IsDefined() {
			continue
		}
		u, err := url.Parse(p.Text())
		if err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
		urls[i], given = u, true
	}
	if !given {
		return httpClient, nil
	}
	t := newTransport()
	t.DisableKeepAlives = true // the transport is for this request only
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Scheme == "https" {
			return urls[1], nil
		}
		return urls[0], nil
	}
	return &http.Client{Transport: t}, nil
}
