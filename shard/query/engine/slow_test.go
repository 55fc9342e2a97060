package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"cordwood/shard/query"
)

// residentBytes returns the memory of this process.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.ParseInt(string(bytes.Fields(text)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestSlowReaders runs queries whose rows are not taken. Each may have a few thousand rows ready.
func TestSlowReaders(t *testing.T) {
	const readers, perReader = 4, 24 << 20
	e := openEngine(t, t.TempDir())
	if _, err := ask(e, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	before := residentBytes(t)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting, ended sync.WaitGroup
	waiting.Add(readers)
	for range readers {
		ended.Go(func() {
			reached := sync.OnceFunc(waiting.Done)
			defer reached()
			err := e.Query(ctx, &query.Request{
				SQL: "SELECT i, repeat('x', 1000) FROM range(2000000) AS t(i)", Database: "public",
			}, func([]byte) error {
				reached()
				<-ctx.Done()
				return ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the query ended with %v before its rows were taken", err)
			}
		})
	}
	waiting.Wait()
	// The engine fills its buffers in the background, until they are full.
	most, same := int64(0), 0
	for deadline := time.Now().Add(20 * time.Second); same < 50 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		if now := residentBytes(t); now > most+1<<20 {
			most, same = now, 0
			continue
		}
		same++
	}
	cancel()
	ended.Wait()
	if grown := most - before; grown > readers*perReader {
		t.Errorf("%d queries whose rows nobody takes have %d MiB, more than %d MiB each", readers, grown>>20, perReader>>20)
	}
}
