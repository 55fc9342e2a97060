package main

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spans are the durations of the stages of requests, by their names.
type spans map[string][]time.Duration

func (s *spans) add(more spans) {
	if *s == nil {
		*s = spans{}
	}
	for name, took := range more {
		(*s)[name] = append((*s)[name], took...)
	}
}

// table returns the quantiles of each stage, the longest first.
func (s spans) table() string {
	type stage struct {
		name     string
		n        int
		p50, p99 time.Duration
	}
	var all []stage
	for _, name := range slices.Collect(maps.Keys(s)) {
		p50, p99 := quantiles(s[name])
		all = append(all, stage{name, len(s[name]), p50, p99})
	}
	slices.SortFunc(all, func(a, b stage) int { return cmp.Or(cmp.Compare(b.p99, a.p99), cmp.Compare(a.name, b.name)) })
	var out strings.Builder
	out.WriteString("| stage | times | p50 ms | p99 ms |\n|---|---|---|---|\n")
	for _, x := range all {
		fmt.Fprintf(&out, "| %s | %d | %.1f | %.1f |\n", x.name, x.n, ms(x.p50), ms(x.p99))
	}
	return out.String()
}

// spanSink is a collector that receives the traces of a server.
type spanSink struct {
	url    string
	server *http.Server

	mu  sync.Mutex // guards got
	got spans
}

func newSpanSink() (*spanSink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &spanSink{url: "http://" + l.Addr().String(), got: spans{}}
	s.server = &http.Server{Handler: http.HandlerFunc(s.receive), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // it ends with close
	return s, nil
}

func (s *spanSink) close() { _ = s.server.Close() }

func (s *spanSink) receive(w http.ResponseWriter, r *http.Request) {
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		in = z
	}
	data, err := io.ReadAll(in)
	var req collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range req.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				took := time.Duration(span.EndTimeUnixNano - span.StartTimeUnixNano) //nolint:gosec // seconds at most
				s.got[span.Name] = append(s.got[span.Name], took)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// take returns the spans that arrived since the last call.
func (s *spanSink) take() spans {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.got
	s.got = spans{}
	return out
}

// await returns the spans after the server has had the time to send them.
func (s *spanSink) await() spans {
	time.Sleep(2 * time.Second)
	return s.take()
}

// newTrace returns a header traceparent with which the server records a request.
func newTrace() string {
	return fmt.Sprintf("00-%016x%016x-%016x-01", rand.Uint64()|1, rand.Uint64(), rand.Uint64()|1)
}

// readAnswer returns the beginning of an answer, and closes it.
func readAnswer(resp *http.Response) (string, error) {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return string(text), err
}
