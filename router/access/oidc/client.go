package oidc

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// maxAnswer is the maximum size of an answer of the provider in bytes.
	maxAnswer = 1 << 20
	// answerTime is how long the provider may take for an answer.
	answerTime = 10 * time.Second
	// maxRedirects is the maximum number of redirects of one request.
	maxRedirects = 5
)

// limitedClient returns a copy of a client that limits the answers of the provider, and does not follow redirects to
// addresses that are not encrypted. c may be nil.
func limitedClient(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	out := *c
	if out.Transport == nil {
		out.Transport = http.DefaultTransport
	}
	out.Transport = limited{out.Transport}
	out.Timeout = answerTime
	out.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("too many redirects")
		}
		return checkURL(r.URL.String())
	}
	return &out
}

// limited limits the size of answers.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		resp.Body = &limitedBody{resp.Body, maxAnswer}
	}
	return resp, err
}

// limitedBody returns an error if a body has more than left bytes.
type limitedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	if b.left < 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return n, err
}
