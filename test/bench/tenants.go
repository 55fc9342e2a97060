package main

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// tenantRounds is how often the quiet tenant is measured alone and beside each flood, in turn. So other load of the
	// machine affects all of them alike.
	tenantRounds = 4
	// quietEvery is the time between two requests of the quiet tenant.
	quietEvery = 20 * time.Millisecond
	// floodClients is the number of connections of a flood.
	floodClients = 64
)

// flood is what other tenants do while the quiet one sends a few small requests.
type flood struct {
	name string
	// rows is the number of rows of a request of the flood. 0 means that there is no flood.
	rows int
	// databases is the number of tenants that flood, each with floodClients/databases connections.
	databases int
}

var floods = []flood{
	{"alone", 0, 0},
	{"one floods, 5,000 rows a request", 5000, 1},
	{"one floods, 50 rows a request", 50, 1},
	{"four flood, 1,000 rows a request", 1000, 4},
}

const tenantsHeader = "| the others | ingest p50 ms | p99 ms | to reach | query p50 ms | p99 ms | to reach | refused " +
	"| rows/s of floods | Jain |\n|---|---|---|---|---|---|---|---|---|---|"

// tenantResult is what the quiet tenant saw during the rounds of a flood.
type tenantResult struct {
	ingest, query []time.Duration
	refused       int
	rows          []float64 // a second, of each flooding tenant
	spans         spans
}

// runTenants measures the requests of a tenant while others flood the server, none of which has a quota.
func (b *bench) runTenants() error {
	sink, err := newSpanSink()
	if err != nil {
		return err
	}
	defer sink.close()
	b.serveFlags += " --trace-endpoint " + sink.url + " --trace-sample-ratio 0"
	addrs, err := freeAddrs(3)
	if err != nil {
		return err
	}
	s, err := b.start(filepath.Join(b.dir, "tenants"), addrs)
	if err != nil {
		return err
	}
	defer s.close() //nolint:errcheck // the results have been printed by then
	if err := s.await(); err != nil {
		return err
	}
	for _, name := range []string{"quiet", "flood0", "flood1", "flood2", "flood3"} {
		if _, err := s.sql("CREATE DATABASE " + name); err != nil {
			return err
		}
	}
	results := make([]tenantResult, len(floods))
	for range tenantRounds {
		for i, f := range floods {
			if !b.only.MatchString(f.name) && f.rows > 0 {
				continue
			}
			sink.take()
			if err := s.round(f, &results[i]); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			results[i].spans.add(sink.await())
		}
	}
	fmt.Println(tenantsHeader)
	for i, f := range floods {
		if len(results[i].ingest) > 0 {
			fmt.Println(results[i].line(f, &results[0]))
		}
	}
	for i, f := range floods {
		if len(results[i].ingest) > 0 {
			fmt.Printf("\n%s, time of the stages of the quiet tenant's requests:\n%s", f.name, results[i].spans.table())
		}
	}
	return nil
}

// sql runs a statement and returns the answer.
func (s *server) sql(text string) (string, error) {
	return s.send("/v1/sql", "application/x-www-form-urlencoded", "sql="+url.QueryEscape(text), "")
}

// send sends a request. trace is its header traceparent, or empty.
func (s *server) send(path, contentType, body, trace string) (string, error) {
	req, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", contentType)
	if trace != "" {
		req.Header.Set("traceparent", trace)
	}
	resp, err := tenantClient.Do(req)
	if err != nil {
		return "", err
	}
	text, err := readAnswer(resp)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("POST %s: %s: %s", path, resp.Status, text)
	}
	return text, err
}

var tenantClient = &http.Client{
	Timeout:   2 * time.Minute,
	Transport: &http.Transport{MaxIdleConnsPerHost: 2 * floodClients, DisableCompression: true},
}

const ingestPath = "/v1/ingest?table=logs&pipeline_name=svc_identity&db="

// tenantRows is a body of n rows.
func tenantRows(n int) string {
	const row = `{"level":"info","path":"/api/users/17","took_ms":12.5,"text":"a line of a log, as usual"}` + "\n"
	return strings.Repeat(row, n)
}

// round measures the quiet tenant for some seconds.
func (s *server) round(f flood, r *tenantResult) error {
	const long = 4 * time.Second
	stop := make(chan struct{})
	var others, quiet sync.WaitGroup
	var failed sync.Map
	rows := make([]float64, f.databases)
	var mu sync.Mutex // guards rows
	body := tenantRows(f.rows)
	for i := range f.databases * floodClients / max(f.databases, 1) {
		of := i % f.databases
		others.Go(func() {
			sent := 0
			for !closed(stop) {
				path := fmt.Sprint(ingestPath, "flood", of)
				if _, err := s.send(path, "application/x-ndjson", body, ""); err == nil {
					sent += f.rows
				} else {
					time.Sleep(100 * time.Millisecond) // as a client that was refused
				}
			}
			mu.Lock()
			defer mu.Unlock()
			rows[of] += float64(sent) / long.Seconds()
		})
	}
	small := tenantRows(50)
	measure := func(to *[]time.Duration, every time.Duration, ask func() error) {
		quiet.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for !closed(stop) {
				<-tick.C
				begin := time.Now()
				if err := ask(); err != nil {
					failed.Store(err.Error(), true)
					mu.Lock()
					r.refused++
					mu.Unlock()
					continue
				}
				*to = append(*to, time.Since(begin))
			}
		})
	}
	measure(&r.ingest, quietEvery, func() error {
		_, err := s.send(ingestPath+"quiet", "application/x-ndjson", small, newTrace())
		return err
	})
	measure(&r.query, 5*quietEvery, func() error {
		_, err := s.send("/v1/sql?db=quiet", "application/x-www-form-urlencoded",
			"sql="+url.QueryEscape("SELECT level, count(*) FROM logs GROUP BY level"), newTrace())
		return err
	})
	time.Sleep(long)
	close(stop)
	quiet.Wait()
	others.Wait()
	r.rows = append(r.rows, rows...)
	if r.refused > 0 {
		failed.Range(func(text, _ any) bool {
			fmt.Println("refused:", text)
			return false
		})
	}
	if len(r.ingest) == 0 || len(r.query) == 0 {
		return fmt.Errorf("no request of the quiet tenant succeeded")
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// quantiles returns the median and the 99th percentile.
func quantiles(all []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}

// jain returns Jain's index of fairness: 1 if all are equal, 1/n if one has everything.
func jain(of []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range of {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(of)) * squares)
}

// line returns the result as a row of the table.
func (r *tenantResult) line(f flood, alone *tenantResult) string {
	i50, i99 := quantiles(r.ingest)
	q50, q99 := quantiles(r.query)
	_, a99 := quantiles(alone.ingest)
	_, b99 := quantiles(alone.query)
	ingest, query, rows, fair := "", "", "", ""
	if f.rows > 0 {
		ingest = fmt.Sprintf("≤ %.1f", ms(a99*3/2+5*time.Millisecond))
		query = fmt.Sprintf("≤ %.1f", ms(b99*3/2+20*time.Millisecond))
		of := make([]float64, f.databases)
		total := 0.0
		for i, n := range r.rows {
			of[i%f.databases] += n
			total += n / (float64(len(r.rows)) / float64(f.databases))
		}
		rows = fmt.Sprintf("%.0f", total)
		if f.databases > 1 {
			fair = fmt.Sprintf("%.3f", jain(of))
		}
	}
	return fmt.Sprintf("| %s | %.1f | %.1f | %s | %.1f | %.1f | %s | %d | %s | %s |", f.name, ms(i50), ms(i99), ingest,
		ms(q50), ms(q99), query, r.refused, rows, fair)
}
