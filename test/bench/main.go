// Command bench measures a built cordwood from the outside: it starts a server on an empty folder, sends rows over
// loopback HTTP, waits until the server is idle, and prints the cost next to the goals.
//
// The main figure is rows per CPU-second of the server and its children, over their whole life. It includes flushes
// and compactions, so deferred work is not missed, and it hardly depends on other load of the machine. It is not a
// test: it never fails because of a figure.
//
//	go run ./test/bench -bin bin/cordwood            everything, takes some minutes
//	go run ./test/bench -bin bin/cordwood -only app  one line of the table
//	go run ./test/bench -bin bin/cordwood -versus old/cordwood   both programs at the same time, and their ratio
//	go run ./test/bench -bin bin/cordwood -nodes 3   a cluster: three replicas of every row
//	go run ./test/bench -bin bin/cordwood -spread    queries over a table on three nodes, compared with one node
//	go run ./test/bench -bin bin/cordwood -reads    Loki's API and PostgreSQL's protocol, compared with SQL over HTTP
//	go run ./test/bench -bin bin/cordwood -tenants  requests for a database while others flood the server
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	var b bench
	fs := flag.NewFlagSet("bench", flag.ExitOnError)
	fs.StringVar(&b.bin, "bin", "bin/cordwood", "program to measure")
	fs.StringVar(&b.versus, "versus", "",
		"another `PROGRAM`, which is loaded at the same time on the same cores; the ratios of both are printed")
	fs.StringVar(&b.data, "data", filepath.Join(os.TempDir(), "cordwood-bench"),
		"folder of the data sets; missing ones are created")
	fs.IntVar(&b.rows, "rows", 2_000_000, "rows of each data set")
	fs.IntVar(&b.runs, "runs", 1, "runs of each case; the median by rows per CPU-second is printed")
	fs.IntVar(&b.nodes, "nodes", 1,
		"servers: 1, or a cluster of 3 or 5 with as many replicas; all figures except waits are sums over the servers")
	fs.DurationVar(&b.settle, "settle", 12*time.Second, "least time between the last answer and the end of counting")
	fs.StringVar(&b.serveFlags, "serve", "", "more flags of cordwood serve, separated by spaces")
	fs.StringVar(&b.profiles, "profiles", "",
		"folder for a CPU profile of each case, from the first request to the end of its first 10 s")
	only := fs.String("only", "", "regular expression that selects the cases to run, or the statements of -spread")
	again := fs.String("again", "", "measure -spread over the folders that a run with -keep left in this `FOLDER`")
	spread := fs.Bool("spread", false,
		"only compare queries over a table on three nodes with the same queries on one node")
	tenants := fs.Bool("tenants", false,
		"only measure the requests for a database alone, and while others flood the server")
	reading := fs.Bool("reads", false,
		"only measure requests of Loki's API and PostgreSQL's protocol, compared with SQL over HTTP")
	queries := fs.Bool("queries", true, "also time queries, over the rows of the case nginx-json, with one server")
	fs.BoolVar(&b.keep, "keep", false, "keep the servers' folders, and say where they are")
	if err := fs.Parse(os.Args[1:]); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if b.nodes != 1 && b.nodes != 3 && b.nodes != 5 {
		return fmt.Errorf("-nodes is %d, want 1, 3 or 5", b.nodes)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	b.only = match
	if b.again = *again != ""; b.again {
		if !*spread {
			return errors.New("-again is for -spread")
		}
		b.dir, b.keep = *again, true
	} else if b.dir, err = os.MkdirTemp("", "cordwood-bench-run-"); err != nil {
		return err
	}
	if b.keep {
		fmt.Fprintln(os.Stderr, "folders of the servers:", b.dir)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	}
	// An interrupt stops the running server. The case that started the server does this.
	b.stop = make(chan os.Signal, 1)
	signal.Notify(b.stop, os.Interrupt, syscall.SIGTERM)

	b.queries = *queries
	if *spread {
		return b.runSpread()
	}
	if *tenants {
		return b.runTenants()
	}
	if *reading {
		return b.runReads()
	}
	title, measure := header, b.run
	if b.versus != "" {
		title, measure = versusHeader, b.runVersus
	}
	fmt.Println(title)
	for _, c := range cases {
		if !match.MatchString(c.name) {
			continue
		}
		if err := measure(c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
