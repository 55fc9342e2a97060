package client

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxErrorBody is the maximum number of bytes that are read from the body of an error.
const maxErrorBody = 64 << 10

// Error is an error answer.
type Error struct {
	// Path is the path of the request.
	Path string
	// Status is the HTTP status.
	Status int
	// Code is the server's error code, or 0.
	Code int
	// Msg is the server's message.
	Msg string
	// Partial, such as "3/5", is the number of parts of a write that were stored although the whole
	// failed; it is empty if none were.
	Partial string
	// Unknown is set if rows may have been stored although the request failed.
	Unknown bool
	// credentials is set if the request had a user or token.
	credentials bool
	// retryAfter is the wait that the server requests, or 0.
	retryAfter time.Duration
}

// Answer returns the status and code of the answer, without the message.
func (e *Error) Answer() string {
	answer := fmt.Sprintf("server answered %d", e.Status)
	if e.Code != 0 {
		answer += fmt.Sprintf(", code %d", e.Code)
	}
	return answer
}

const (
	// noCredentials is the code of an answer to a request without a user or token. The server's text for it is the one
	// that clients of other systems expect.
	noCredentials = 7003
	// bootstrapPath is the path of the request that makes the first administrator: it has a token of its own.
	bootstrapPath = "/v1/access/bootstrap"
)

// Error returns the server's message, followed by the status and code.
func (e *Error) Error() string {
	answer := e.Answer()
	s := answer
	if e.Code == noCredentials && !e.credentials {
		s = "no user or token was sent (" + answer + ")"
	} else if e.Msg != "" {
		space := " "
		if strings.Contains(e.Msg, "\n ") {
			space = "\n" // put the status on a separate line after an excerpt
		}
		s = strings.TrimRight(e.Msg, "\n") + space + "(" + answer + ")"
	}
	switch {
	case e.Status != http.StatusUnauthorized || e.Path == bootstrapPath:
	case e.credentials:
		s += "; check the user and password, or the token, that were given by a flag or by CORDWOOD_USER or CORDWOOD_TOKEN"
	default:
		s += "; give --user NAME:PASSWORD or --token TOKEN, or set CORDWOOD_USER or CORDWOOD_TOKEN"
	}
	if e.Partial != "" {
		s += "; " + e.Partial + " of its parts were stored"
	}
	return s
}

func asError(err error) (*Error, bool) {
	e := (*Error)(nil)
	return e, errors.As(err, &e)
}

// explain adds advice to the error of a request without an answer.
func (c *Client) explain(s server, err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	name := (*net.DNSError)(nil)
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("no server at %s: the name %q does not resolve, check %s: %w", s.base, name.Name, c.cfg.Flag, err)
	case errors.As(err, &name):
		return fmt.Errorf("no server at %s: the name %q could not be looked up: %w", s.base, name.Name, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server at %s: start one with '%s' or give %s: %w", s.base, c.cfg.Serve, c.cfg.Flag, err)
	case dialing(err):
		return fmt.Errorf("no connection to %s: check %s, and the network in between: %w", s.base, c.cfg.Flag, err)
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%s closed the connection without an answer: it stopped, or this is not a port for users (4000 by "+
			"default; 4001 is the port between nodes): %w", s.base, err)
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return fmt.Errorf("%s: this machine does not know the authority of the server's certificate: set the environment "+
			"variable SSL_CERT_FILE to the file with the authority's certificate (PEM): %w", s.base, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s speaks HTTP without TLS: write http:// in %s: %w", s.base, c.cfg.Flag, err)
	}
	return fmt.Errorf("%s: %w", s.base, err)
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

// retryAfter parses the header Retry-After, in seconds or as a date.
func retryAfter(v string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
		return min(time.Duration(max(seconds, 0)), maxWait/time.Second) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// dialing reports whether err means that a connection could not be made.
func dialing(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "dial"
}
