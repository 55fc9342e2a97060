package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// body is a request that is prepared before the clock starts.
type body struct {
	data      []byte
	rows, raw int
}

// readBodies divides a data set, one row a line, into requests.
func readBodies(file string, c workload) ([]body, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []body
	for sent := 0; len(data) > 0 && (c.rows == 0 || sent < c.rows); {
		end, rows := 0, 0
		for rows < c.batch && end < len(data) {
			nl := bytes.IndexByte(data[end:], '\n')
			if nl < 0 {
				nl = len(data) - end - 1
			}
			end += nl + 1
			rows++
		}
		b := body{data: data[:end], rows: rows, raw: end}
		if c.gzip {
			var z bytes.Buffer
			w, err := gzip.NewWriterLevel(&z, gzip.BestSpeed)
			if err != nil {
				return nil, err
			}
			if _, err := w.Write(b.data); err != nil {
				return nil, err
			}
			if err := w.Close(); err != nil {
				return nil, err
			}
			b.data = z.Bytes()
		}
		out = append(out, b)
		data = data[end:]
		sent += rows
	}
	return out, nil
}

// result is the cost of a run.
type result struct {
	rows, raw        int64
	p50, p99         time.Duration
	wall             time.Duration
	cpu              time.Duration
	peakRSS, written int64
	disk             int64
	before           use
	queries          string
}

func (r *result) rowsPerCPU() float64 { return float64(r.rows) / r.cpu.Seconds() }

// load sends all bodies over c.conns connections, each with one request at a time, distributed over
// the servers.
func (g group) load(c workload, bodies []body) (r result, err error) {
	contentType := "application/x-ndjson"
	if c.set == setAccess {
		contentType = "text/plain"
	}
	path := "/v1/ingest?db=public&table=logs&pipeline_name=" + c.pipeline
	if c.timeIndex != "" {
		path += "&custom_time_index=" + url.QueryEscape(c.timeIndex)
	}
	client := &http.Client{
		Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: c.conns, DisableCompression: true},
	}
	defer client.CloseIdleConnections()
	if r.before, err = g.use(); err != nil {
		return r, err
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	latencies := make([][]time.Duration, c.conns)
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range c.conns {
		to := g[i%len(g)].url + path
		wg.Go(func() {
			for failed.Load() == nil {
				at := int(next.Add(1)) - 1
				if at >= len(bodies) {
					return
				}
				sent := time.Now()
				if err := post(client, to, contentType, c, bodies[at].data); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				latencies[i] = append(latencies[i], time.Since(sent))
			}
		})
	}
	wg.Wait()
	r.wall = time.Since(begin)
	if err := failed.Load(); err != nil {
		return r, *err
	}
	for _, b := range bodies {
		r.rows += int64(b.rows)
		r.raw += int64(b.raw)
	}
	all := slices.Concat(latencies...)
	slices.Sort(all)
	r.p50, r.p99 = all[len(all)/2], all[len(all)*99/100]
	return r, nil
}

func post(client *http.Client, url, contentType string, c workload, data []byte) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	if c.hints != "" {
		req.Header.Set("x-svc-hints", c.hints)
	}
	if c.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %s: %s", url, resp.Status, text)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// line returns the result as a row of the table.
func (r *result) line(c workload, nodes int) string {
	target := fmt.Sprint(c.target)
	if nodes > 1 {
		target, c.limits = "–", false
		if c.replicated > 0 && nodes == 3 {
			target = fmt.Sprint(c.replicated)
		}
	}
	text := fmt.Sprintf("| %s | %.0f | %s | %.1f | %.1f | %.0f | %.3f | %.3f |", c.name, r.rowsPerCPU(), target,
		ms(r.p50), ms(r.p99), float64(r.peakRSS)/1e6, float64(r.written)/float64(r.raw), float64(r.disk)/float64(r.raw))
	if c.limits {
		text += "\n| &nbsp;&nbsp;to reach | | | ≤ 8 | ≤ 40 | ≤ 300 | ≤ 0.25 | ≤ 0.09 |"
	}
	return text
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
