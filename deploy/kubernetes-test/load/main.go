// Command load writes rows like a shipper: it repeats a failed request with the same
// Idempotency-Key until it is acknowledged. Meanwhile it counts the rows. At the end it compares
// the stored rows with the acknowledged ones, and fails unless each is stored exactly once.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	l := &load{failures: map[string]int{}, acked: map[string]int{}}
	flag.StringVar(&l.url, "url", "http://127.0.0.1:4000", "where the service is")
	flag.StringVar(&l.prefix, "table", "load", "prefix of the tables")
	flag.IntVar(&l.tables, "tables", 4, "number of tables")
	flag.IntVar(&l.writers, "writers", 4, "requests at a time")
	flag.IntVar(&l.rows, "rows", 20, "rows a request")
	flag.DurationVar(&l.pause, "pause", 50*time.Millisecond, "pause of a writer after each request")
	flag.DurationVar(&l.patience, "patience", 2*time.Minute, "how long a request is tried")
	length := flag.Duration("for", 10*time.Minute, "how long to write; a SIGINT or SIGTERM ends it earlier")
	flag.Parse()
	if l.tables < 1 || l.writers < 1 || l.rows < 1 || *length <= 0 {
		fmt.Fprintln(os.Stderr, "load: want at least one table, writer, row and moment")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	l.run(ctx)
	bad := l.report()
	if err := l.compare(); err != nil {
		fmt.Println("FAILED:", err)
		bad = true
	}
	if bad {
		os.Exit(1)
	}
	fmt.Println("ok: every acknowledged row is there once, and no request was given up")
}
