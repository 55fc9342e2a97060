package buckettest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy passes requests on to an S3 server, and injects faults.
type Proxy struct {
	// URL is the endpoint for clients.
	URL string

	target string
	client *http.Client
	ended  chan struct{} // closed at the end of the test

	mu     sync.Mutex // guards all fields below
	plan   Plan
	delay  time.Duration
	counts Counts
	newest []string          // the keys of the last objects that were stored
	said   map[string]string // the checksums that Parrot has removed, by path
}

// lagging is the number of objects that a lagging list leaves out.
const lagging = 3

// NewProxy starts a proxy before a server. The plan may be nil.
func NewProxy(t testing.TB, target string, plan Plan) *Proxy {
	t.Helper()
	p := &Proxy{
		target: target, client: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}},
		counts: Counts{Requests: map[string]int{}, Faults: map[Fault]int{}}, delay: 30 * time.Millisecond,
		said: map[string]string{}, ended: make(chan struct{}),
	}
	p.SetPlan(plan)
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		close(p.ended)
		server.CloseClientConnections()
		server.Close()
		p.client.CloseIdleConnections()
	})
	p.URL = server.URL
	return p
}

// SetPlan changes the faults of further requests. A nil plan has none.
func (p *Proxy) SetPlan(plan Plan) {
	if plan == nil {
		plan = Always(None)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

// SetDelay changes how long the fault Delay waits. The default value is 30 ms.
func (p *Proxy) SetDelay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Counts returns what the proxy has seen.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counts
	c.Requests, c.Faults = maps.Clone(c.Requests), maps.Clone(c.Faults)
	return c
}

// choose counts a request and chooses its fault.
func (p *Proxy) choose(r *http.Request) (Fault, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	method := r.Method
	if isList(r) {
		method = "LIST"
	}
	p.counts.Requests[method]++
	f := p.plan(r)
	if f != None && !f.applies(r) {
		f = None
	}
	if f != None {
		p.counts.Faults[f]++
	}
	return f, p.delay
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault, delay := p.choose(r)
	switch fault {
	case Delay:
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		case <-p.ended: // while a body was not read, the server does not notice that its client is gone
			return
		}
	case SlowDown:
		refuse(w, r, http.StatusServiceUnavailable, "SlowDown")
		return
	case Internal:
		refuse(w, r, http.StatusInternalServerError, "InternalError")
		return
	case Forbid:
		refuse(w, r, http.StatusForbidden, "AccessDenied")
		return
	case Reset:
		hangUp(w)
		return
	}
	checksum := r.Header.Get(checksumHeader)
	status, header, body, err := p.forward(r, fault)
	if err != nil || fault == LostAnswer {
		hangUp(w)
		return
	}
	if r.Method == http.MethodGet && status < 300 {
		body = p.spoil(fault, header, body)
	}
	if fault == Parrot && status < 300 {
		p.parrot(r, checksum, header)
	}
	p.answer(w, r, fault, status, header, body)
}

// parrot remembers the checksum of a PUT, and adds it to the answer to a HEAD request.
func (p *Proxy) parrot(r *http.Request, checksum string, answer http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Method == http.MethodPut {
		p.said[r.URL.Path] = checksum
		return
	}
	if said, ok := p.said[r.URL.Path]; ok {
		answer.Set(checksumHeader, said)
	}
}

// refuse answers a request with an error of S3.
func refuse(w http.ResponseWriter, r *http.Request, status int, code string) {
	_, _ = io.Copy(io.Discard, r.Body) // what the client sends does not matter
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>injected</Message></Error>`, code)
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that the client sees a reset
	}
	conn.Close()
}

// forward sends a request to the server. The signature covers the header Host, which stays as it is.
func (p *Proxy) forward(r *http.Request, fault Fault) (int, http.Header, []byte, error) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, p.target+r.URL.RequestURI(), r.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	out.Header, out.Host, out.ContentLength = r.Header, r.Host, r.ContentLength
	if header, ok := ignored[fault]; ok {
		if out, err = without(out, header); err != nil {
			return 0, nil, nil, err
		}
	}
	resp, err := p.client.Do(out)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if r.Method == http.MethodPut && resp.StatusCode < 300 {
		p.mu.Lock()
		p.counts.Stored += max(r.ContentLength, 0)
		p.newest = append(p.newest, r.URL.Path)
		p.newest = p.newest[max(len(p.newest)-lagging, 0):]
		p.mu.Unlock()
	}
	return resp.StatusCode, resp.Header, body, err
}

// spoil changes the body of an answer to a GET.
func (p *Proxy) spoil(fault Fault, header http.Header, body []byte) []byte {
	switch fault {
	case LagList:
		return p.lag(body)
	case Flip:
		if len(body) > 0 {
			body = bytes.Clone(body)
			body[len(body)*2/3] ^= 1 << (len(body) % 8)
		}
	case Short:
		if len(body) > 0 {
			body = body[:len(body)-1]
			shorten(header)
		}
	case Foreign:
		body = bytes.Clone(body)
		for i := range body {
			body[i] = ^body[i]
		}
	}
	return body
}

// shorten makes the header Content-Range one byte shorter.
func shorten(h http.Header) {
	var first, last, size int64
	if n, _ := fmt.Sscanf(h.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size); n == 3 {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last-1, size))
	}
}

var (
	listed    = regexp.MustCompile(`(?s)<Contents>.*?</Contents>`)
	listedKey = regexp.MustCompile(`<Key>(.*?)</Key>`)
)

// lag removes the newest objects from a listing.
func (p *Proxy) lag(body []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return listed.ReplaceAllFunc(body, func(entry []byte) []byte {
		key := listedKey.FindSubmatch(entry)
		for _, path := range p.newest {
			if key != nil && strings.HasSuffix(path, "/"+string(key[1])) {
				return nil
			}
		}
		return entry
	})
}

// answer sends an answer to the client.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, fault Fault, status int, h http.Header, body []byte) {
	maps.Copy(w.Header(), h)
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if fault == Cut {
		body = body[:len(body)/2]
	}
	n, _ := w.Write(body) // the client notices by itself
	p.mu.Lock()
	p.counts.Sent += int64(n)
	p.mu.Unlock()
	if fault == Cut {
		panic(http.ErrAbortHandler)
	}
}
