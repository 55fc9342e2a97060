// Package client talks HTTP to a cordwood server for the commands of the program. It
// knows the address, the credentials, the shape of errors, and when it may send a
// request again; what the requests mean is the commands' business.
//
// A Client may be used by any number of goroutines. It holds nothing that must be
// closed but idle connections.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// maxErrorBody bounds what is read of an answer that is an error.
	maxErrorBody = 64 << 10

	firstWait = 250 * time.Millisecond
	// maxWait bounds one wait, also if the server asks for more.
	maxWait = 30 * time.Second
)

// Config says which server to talk to, and how.
type Config struct {
	// Server is the base URL; without a scheme it is http.
	Server string
	// Flag is what gives the address, for errors. The default value is --server.
	Flag string
	// Serve is the command that starts such a server, for errors. The default value is
	// cordwood serve.
	Serve string
	// User is NAME:PASSWORD, or empty.
	User string
	// UserAgent names the program.
	UserAgent string
	// Attempts is how often a request is sent in all while the server answers that it is
	// busy; 0 is 10.
	Attempts int
	// Forever lifts the bound of attempts, also while no connection comes about.
	Forever bool
	// OnRetry, if not nil, is told of each wait before it starts.
	OnRetry func(cause error, wait time.Duration)
	// Wait waits between two attempts; nil waits for the time given. Tests replace it.
	Wait func(ctx context.Context, d time.Duration) error
}

// Client sends requests to one server.
type Client struct {
	cfg            Config
	base           string
	user, password string
	http           *http.Client
}

// New checks the address and the credentials; it does not connect.
func New(cfg Config) (*Client, error) {
	server := cfg.Server
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("server %q is no address: write it like http://127.0.0.1:4000", cfg.Server)
	}
	c := &Client{cfg: cfg, base: u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")}
	if u.User != nil {
		c.user = u.User.Username()
		c.password, _ = u.User.Password()
	}
	if cfg.User != "" {
		var found bool
		if c.user, c.password, found = strings.Cut(cfg.User, ":"); !found || c.user == "" || c.password == "" {
			return nil, errors.New("the user must be given as NAME:PASSWORD")
		}
	}
	c.cfg.Flag, c.cfg.Serve = cmp.Or(c.cfg.Flag, "--server"), cmp.Or(c.cfg.Serve, "cordwood serve")
	if c.cfg.Attempts <= 0 {
		c.cfg.Attempts = 10
	}
	if c.cfg.Wait == nil {
		c.cfg.Wait = wait
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	// Answers are streamed as they come: what the transport would unpack in secret could
	// not be told from what the server sent.
	transport.DisableCompression = true
	c.http = &http.Client{Transport: transport}
	return c, nil
}

// Server is the address that requests go to, without credentials.
func (c *Client) Server() string { return c.base }

// Request is one request.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
}

// Error is an answer that is an error.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is the server's own code, 0 if it gave none.
	Code int
	// Msg is the server's text.
	Msg string
	// Partial says, as "3/5", that so many parts of a write were stored although the
	// whole failed; empty if nothing was.
	Partial string
	// Unknown says that rows may have been stored although the request failed.
	Unknown bool
	// retryAfter is how long the server asks to wait; 0 if it does not say.
	retryAfter time.Duration
}

// Error is the server's reason, and behind it how it answered.
func (e *Error) Error() string {
	answer := fmt.Sprintf("server answered %d", e.Status)
	if e.Code != 0 {
		answer += fmt.Sprintf(", code %d", e.Code)
	}
	s := answer
	if e.Msg != "" {
		s = e.Msg + " (" + answer + ")"
	}
	if e.Status == http.StatusUnauthorized {
		s += "; give --user NAME:PASSWORD or set CORDWOOD_USER"
	}
	if e.Partial != "" {
		s += "; " + e.Partial + " of its parts were stored"
	}
	return s
}

// retryable tells whether the same request may be sent again. A write of which a part
// was or may have been stored must not be, unless it has a key: its rows would be there
// twice.
func (e *Error) retryable(keyed bool) bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return keyed || e.Partial == "" && !e.Unknown
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout:
		return keyed // the last two are of a load balancer
	}
	return false
}

// maxConnects is how often a server that cannot be connected to is tried, about 3 s in
// all: long enough for one that is starting, not for a wrong address.
const maxConnects = 5

// Do sends a request and returns its answer, of status 2xx; the caller closes the body.
//
// It sends the request again, after a wait, while the server answers 429 or 503 or cannot
// be connected to, and as long as Config.Attempts allows. An answer that says that rows
// are or may be stored ends this, unless the request has an Idempotency-Key. A connection that breaks after
// the request was sent is an error, as what became of it is unknown, unless the request
// has an Idempotency-Key: then it is sent again too. An answer of another status is an
// *Error.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	pause := firstWait
	keyed := r.Header.Get("Idempotency-Key") != ""
	for attempt := 1; ; attempt++ {
		resp, err := c.send(ctx, r)
		if err == nil || attempt == c.cfg.Attempts && !c.cfg.Forever || ctx.Err() != nil {
			return resp, err
		}
		d := pause/2 + rand.N(pause/2)
		if e := (*Error)(nil); errors.As(err, &e) {
			if !e.retryable(keyed) {
				return nil, err
			}
			d = max(d, e.retryAfter)
		} else if !refused(err) && !keyed || attempt >= maxConnects && !c.cfg.Forever {
			return nil, err
		}
		d = min(d, maxWait)
		pause = min(2*pause, maxWait)
		if c.cfg.OnRetry != nil {
			c.cfg.OnRetry(err, d)
		}
		if werr := c.cfg.Wait(ctx, d); werr != nil {
			return nil, err
		}
	}
}

// refused tells whether err means that no connection came about.
func refused(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "dial"
}

func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	target := c.base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path, err)
	}
	for k, v := range r.Header {
		req.Header[k] = v
	}
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.explain(err)
	}
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, readError(resp)
}

// explain says of a request that got no answer what to do about it.
func (c *Client) explain(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	name := (*net.DNSError)(nil)
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("no server at %s: the name %q does not resolve, check %s: %w", c.base, name.Name, c.cfg.Flag, err)
	case errors.As(err, &name):
		return fmt.Errorf("no server at %s: the name %q could not be looked up: %w", c.base, name.Name, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server at %s: start one with '%s' or give %s: %w", c.base, c.cfg.Serve, c.cfg.Flag, err)
	case refused(err):
		return fmt.Errorf("no connection to %s: check %s, and the network in between: %w", c.base, c.cfg.Flag, err)
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%s closed the connection without an answer: it stopped, or this is no port for users (4000 by default; 4001 is the one between nodes): %w", c.base, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s speaks HTTP without TLS: write http:// in %s: %w", c.base, c.cfg.Flag, err)
	}
	return fmt.Errorf("%s: %w", c.base, err)
}

// readError makes an Error of an answer.
func readError(resp *http.Response) *Error {
	e := &Error{
		Status:     resp.StatusCode,
		Partial:    resp.Header.Get("X-Ingest-Partial"),
		Unknown:    resp.Header.Get("X-Svc-Outcome") == "unknown",
		retryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var shape struct {
		Code  int    `json:"code"`
		Error string `json:"error"`
	}
	if err == nil && json.Unmarshal(body, &shape) == nil && shape.Error != "" {
		e.Code, e.Msg = shape.Code, shape.Error
		return e
	}
	if e.Msg = strings.TrimSpace(string(body)); len(e.Msg) > 300 {
		e.Msg = strings.ToValidUTF8(e.Msg[:300], "") + "…"
	}
	if e.Msg == "" {
		e.Msg = http.StatusText(resp.StatusCode)
	}
	e.Code, _ = strconv.Atoi(resp.Header.Get("x-svc-err-code"))
	return e
}

// retryAfter reads the header of that name, in seconds or as a date.
func retryAfter(v string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
		return min(time.Duration(max(seconds, 0)), maxWait/time.Second) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
