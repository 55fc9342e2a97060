// Package replayapi has the handler of POST /v1/rejects/replay, which sends rejected records again. About once a
// second, its answer gets a line of JSON with the progress (replay.Progress). The last line has "end":true
// (replay.End). If the client disconnects, the replay stops. Records that are stored by then stay stored, and the next
// request skips them.
//
// For each statement and each record, the handler calls the server's own handler with the client's credentials, so
// rights and limits are checked as for any request (router/DESIGN.md, decision 38).
package replayapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/replay"
)

const (
	// maxReplays is the maximum number of concurrent replays. Each has an open statement and sends up to 64 records
	// at a time.
	maxReplays = 4
	// maxReplayRequest limits the size of a request, in bytes.
	maxReplayRequest = 64 << 10
	// progressEvery is the time between two lines of progress.
	progressEvery = time.Second
	// stalledReader is how long a client may take to read a line.
	stalledReader = 30 * time.Second
)

// Handler answers replays. See the package comment. It may be used concurrently.
type Handler struct {
	server  http.Handler
	now     func() time.Time
	running chan struct{} // has a value for each running replay
}

// New returns a Handler that sends requests to server, the handler of all paths.
func New(server http.Handler, now func() time.Time) *Handler {
	return &Handler{server: server, now: now, running: make(chan struct{}, maxReplays)}
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := &replay.Request{}
	if err := readReplay(w, r, req); err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	select {
	case h.running <- struct{}{}:
		defer func() { <-h.running }()
	default:
		exchange.WriteError(w, r, errs.New(errs.RateLimited, "%d replays are running, which is the maximum", maxReplays).
			WithStatus(http.StatusTooManyRequests).WithRetryAfter(5*time.Second))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the connection may serve other requests later
	line := func(v any) {
		out, err := json.Marshal(v)
		if err == nil {
			_ = control.SetWriteDeadline(time.Now().Add(stalledReader))
			_, err = w.Write(append(out, '\n'))
		}
		if err == nil {
			err = control.Flush()
		}
		if err != nil { // the client is gone
			cancel()
		}
	}
	w.WriteHeader(http.StatusOK)
	_ = control.Flush() // the client learns that its request was accepted before the first line
	last := h.now()
	tell := func(p replay.Progress) {
		if now := h.now(); now.Sub(last) >= progressEvery {
			last = now
			line(p)
		}
	}
	end, err := replay.NewJob(req, NewBackend(h.server, r), tell).Run(ctx)
	if err != nil {
		e := errs.From(err)
		end.Error, end.Code = e.ClientMessage(), e.Code
		exchange.Of(r).Failed = e
	}
	line(end)
}

// readReplay reads and checks a request.
func readReplay(w http.ResponseWriter, r *http.Request, req *replay.Request) error {
	body, err := exchange.ReadBody(w, r, maxReplayRequest, "request")
	if err != nil {
		return err
	}
	exchange.Of(r).Statement = string(body)
	if err := exchange.DecodeJSON(body, req); err != nil {
		return err
	}
	return req.Check()
}

// backend implements replay.Backend for the client of a request.
type backend struct{ inner }

// NewBackend returns the backend for a replay that outer requested. It sends requests to server.
func NewBackend(server http.Handler, outer *http.Request) replay.Backend {
	return backend{inner{server, outer}}
}

// Rows implements replay.Backend.
func (b backend) Rows(ctx context.Context, sql string) (io.ReadCloser, error) {
	resp, err := b.send(ctx, "/v1/sql", url.Values{"format": {"ndjson"}}, http.Header{
		"Content-Type": {"application/sql"}, "X-Svc-Timeout": {"1h"},
	}, []byte(sql))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	err = innerError(resp)
	if errs.CodeOf(err) == errs.TableNotFound {
		err = nil
	}
	return nil, err
}

// innerError returns the error in the answer to an inner request.
func innerError(resp *http.Response) error {
	defer resp.Body.Close()
	var answer struct {
		Code  errs.Code `json:"code"`
		Error string    `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return errs.New(errs.Unexpected, "the answer has status %d", resp.StatusCode)
	}
	return errs.New(answer.Code, "%s", answer.Error).WithStatus(resp.StatusCode)
}

// storeTries is the number of times that a record is sent if the server is busy.
const storeTries = 5

// Store implements replay.Backend.
func (b backend) Store(ctx context.Context, r *replay.Record) (replay.Outcome, error) {
	for try := 1; ; try++ {
		out, status, err := b.storeOnce(ctx, r)
		passing := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
		if err == nil || !passing || try == storeTries {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(time.Duration(try) * 200 * time.Millisecond):
		}
	}
}

func (b backend) storeOnce(ctx context.Context, r *replay.Record) (out replay.Outcome, status int, err error) {
	path, query := replay.ProtocolPath(r.To.Format), url.Values{
		"db": {r.To.DB}, "table": {r.To.Table}, "on_reject": {r.OnReject},
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if r.To.Pipeline != "" {
		query.Set("pipeline_name", r.To.Pipeline)
	}
	if path == "" {
		path = "/v1/ingest"
		query.Set("skip_error", "true")
		header.Set("Content-Type", lineType(r.To.Format))
		if r.To.TimeIndex != "" {
			query.Set("custom_time_index", r.To.TimeIndex)
		}
	}
	header.Set("Idempotency-Key", r.Key)
	header.Set("X-Svc-Replayed", r.ID)
	resp, err := b.send(ctx, path, query, header, r.Line)
	if err != nil {
		return out, 0, err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		err := innerError(resp)
		if resp.StatusCode == http.StatusBadRequest && path != "/v1/ingest" {
			// the error concerns the only record of the request
			return replay.Outcome{Failed: err.Error()}, resp.StatusCode, nil
		}
		return out, resp.StatusCode, err
	}
	out, err = readStored(resp)
	return out, resp.StatusCode, err
}

// readStored reads the answer to a record that was accepted.
func readStored(resp *http.Response) (out replay.Outcome, err error) {
	defer resp.Body.Close()
	var answer struct {
		Output []struct {
			AffectedRows int64 `json:"affectedrows"`
		} `json:"output"`
		Skipped struct {
			Count   int64 `json:"count"`
			Reasons []struct {
				Error string `json:"error"`
			} `json:"reasons"`
		} `json:"skipped"`
		PartialSuccess struct {
			Rejected int64  `json:"rejectedLogRecords,string"`
			Message  string `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer)
	if err != nil && !errors.Is(err, io.EOF) { // Loki's answer is empty
		return out, errs.Wrap(errs.Unexpected, err, "read the answer to a record")
	}
	for _, o := range answer.Output {
		out.Rows += o.AffectedRows
	}
	switch {
	case answer.Skipped.Count > 0 && len(answer.Skipped.Reasons) > 0:
		out.Failed = cmp.Or(answer.Skipped.Reasons[0].Error, "refused")
	case answer.Skipped.Count > 0:
		out.Failed = "refused"
	case answer.PartialSuccess.Rejected > 0:
		out.Failed = cmp.Or(answer.PartialSuccess.Message, "refused")
	}
	return out, nil
}

// lineType returns the content type of kept records, with one record on each line.
func lineType(format string) string {
	if format == "text" {
		return "text/plain"
	}
	return "application/x-ndjson"
}

// Try implements replay.Backend.
func (b backend) Try(ctx context.Context, to replay.Destination, lines []byte) (int64, []string, error) {
	query := url.Values{
		"db": {to.DB}, "table": {to.Table}, "pipeline_name": {to.Pipeline}, "trace": {"true"}, "trace_records": {"0"},
	}
	if to.TimeIndex != "" {
		query.Set("custom_time_index", to.TimeIndex)
	}
	resp, err := b.send(ctx, "/v1/pipelines/_dryrun", query, http.Header{"Content-Type": {lineType(to.Format)}}, lines)
	if err != nil {
		return 0, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		err := innerError(resp)
		// for example, the pipeline does not exist, so no record can be stored
		if resp.StatusCode == http.StatusBadRequest {
			n := int64(bytes.Count(lines, []byte("\n")))
			return n, []string{err.Error()}, nil
		}
		return 0, nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Records []struct {
			Outcome string `json:"outcome"`
			Error   *struct {
				Step, Reason string
			} `json:"error"`
		} `json:"records"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return 0, nil, errs.Wrap(errs.Unexpected, err, "read the answer of a dry run")
	}
	var reasons []string
	for _, r := range answer.Records {
		if r.Outcome == "failed" && r.Error != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %s", r.Error.Step, r.Error.Reason))
		}
	}
	return int64(len(reasons)), reasons, nil
}
