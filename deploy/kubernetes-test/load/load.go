package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

type load struct {
	url, prefix           string
	tables, writers, rows int
	pause, patience       time.Duration

	mu       sync.Mutex
	acked    map[string]int // rows by table
	requests int
	again    int            // requests that succeeded only after a retry
	givenUp  int            // requests that never succeeded
	failures map[string]int // failed tries, by the error that the client got
	slowest  time.Duration  // from the first try to the acknowledgement
	counts   int
	counted  int // queries that failed
	wrong    []string
}

func (l *load) run(ctx context.Context) {
	var wg sync.WaitGroup
	for w := range l.writers {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
			for seq := 0; ctx.Err() == nil; seq++ {
				l.request(client, w, seq)
				time.Sleep(l.pause)
			}
		})
	}
	wg.Go(func() { l.watch(ctx) })
	wg.Wait()
}

func (l *load) table(i int) string { return fmt.Sprintf("%s_%d", l.prefix, i%l.tables) }

// request sends one batch until it is acknowledged or the time limit has passed.
func (l *load) request(client *http.Client, writer, seq int) {
	table, key := l.table(writer+seq), rand.Text()
	var body bytes.Buffer
	for row := range l.rows {
		fmt.Fprintf(&body, `{"id":"%d-%d-%d","msg":"GET /checkout 200","took_ms":%d}`+"\n", writer, seq, row, seq%1000)
	}
	begun := time.Now()
	for try := 0; ; try++ {
		wait, err := l.post(client, table, key, body.Bytes())
		l.mu.Lock()
		took := time.Since(begun)
		if err == nil {
			l.requests++
			l.acked[table] += l.rows
			if try > 0 {
				l.again++
			}
			if took > l.slowest {
				l.slowest = took
			}
			l.mu.Unlock()
			return
		}
		if try == 0 {
			fmt.Printf("%s first try failed: %v\n", begun.UTC().Format("15:04:05.000"), err)
		}
		l.failures[kind(err)]++
		if took > l.patience {
			l.givenUp++
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		time.Sleep(wait)
	}
}

// status is an answer other than success.
type status struct {
	code int
	text string
}

func (s status) Error() string { return fmt.Sprintf("%d %s", s.code, s.text) }

// post sends the request once; wait is the pause before the next try after an error.
func (l *load) post(client *http.Client, table, key string, body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequest(http.MethodPost, l.url+"/v1/ingest?pipeline_name=svc_identity&table="+table,
		bytes.NewReader(body))
	if err != nil {
		return time.Second, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Idempotency-Key", key)
	// Go's client would silently resend it on an old connection.
	req.GetBody = nil
	resp, err := client.Do(req)
	if err != nil {
		return 200 * time.Millisecond, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return 200 * time.Millisecond, err
	}
	if resp.StatusCode == http.StatusOK {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64)
	if err != nil {
		seconds = 1
	}
	return time.Duration(seconds * float64(time.Second)), status{resp.StatusCode, string(text)}
}

func kind(err error) string {
	var s status
	if errors.As(err, &s) {
		return strconv.Itoa(s.code)
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+1:]
}

// watch counts the rows of a table every second: the count must never be below the acknowledged
// rows.
func (l *load) watch(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		time.Sleep(time.Second)
		table := l.table(i)
		l.mu.Lock()
		least := l.acked[table]
		l.mu.Unlock()
		if least == 0 {
			continue
		}
		n, _, err := l.count(table)
		l.mu.Lock()
		l.counts++
		if err != nil {
			l.counted++
			fmt.Printf("%s count failed: %v\n", time.Now().UTC().Format("15:04:05.000"), err)
		} else if n < least {
			l.wrong = append(l.wrong, fmt.Sprintf("%s has %d rows, %d were acknowledged before", table, n, least))
		}
		l.mu.Unlock()
	}
}

// count returns the number of rows of a table, and of different ids.
func (l *load) count(table string) (rows, ids int, err error) {
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.PostForm(l.url+"/v1/sql", url.Values{"sql": {"SELECT count(*), count(DISTINCT id) FROM " + table}})
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return 0, 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, 0, status{resp.StatusCode, string(text)}
	}
	var out struct {
		Output []struct {
			Records struct {
				Rows [][]int `json:"rows"`
			} `json:"records"`
		} `json:"output"`
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return 0, 0, err
	}
	if len(out.Output) != 1 || len(out.Output[0].Records.Rows) != 1 || len(out.Output[0].Records.Rows[0]) != 2 {
		return 0, 0, fmt.Errorf("no counts in %s", text)
	}
	row := out.Output[0].Records.Rows[0]
	return row[0], row[1], nil
}

// report prints the results, and returns whether a client would have lost rows.
func (l *load) report() (bad bool) {
	rows := 0
	for _, n := range l.acked {
		rows += n
	}
	fmt.Printf("requests %d, rows %d, acknowledged only at a later try %d, given up %d, slowest %s\n",
		l.requests, rows, l.again, l.givenUp, l.slowest.Round(time.Millisecond))
	var kinds []string
	for k := range l.failures {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		fmt.Printf("  failed tries, %s: %d\n", k, l.failures[k])
	}
	fmt.Printf("counts %d, failed %d, wrong %d\n", l.counts, l.counted, len(l.wrong))
	for _, w := range l.wrong {
		fmt.Println("  " + w)
	}
	return l.givenUp > 0 || len(l.wrong) > 0 || rows == 0
}

func (l *load) compare() error {
	for table, want := range l.acked {
		rows, ids, err := l.count(table)
		if err != nil {
			return fmt.Errorf("counting the rows of %s: %w", table, err)
		}
		// The rows of a request that never succeeded may or may not be stored.
		if rows < want || ids < want || rows != ids || (l.givenUp == 0 && rows != want) {
			return fmt.Errorf("%s: %d rows with %d ids, want %d", table, rows, ids, want)
		}
	}
	return nil
}
