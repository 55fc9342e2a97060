package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

//go:embed pipelines/*.yaml
var pipelines embed.FS

// workload is one line of the table.
type workload struct {
	name     string
	set      string // data set
	pipeline string // file of pipelines, or the built-in svc_identity
	conns    int
	batch    int
	gzip     bool
	// hints are options of the table. timeIndex is the field with the time index. Both may be empty.
	hints, timeIndex string
	// rows, if not 0, limits the number of rows that are sent.
	rows int
	// target is the goal in rows per CPU-second. replicated is the goal for three nodes with three replicas, in
	// total. 0 means that there is no goal.
	target, replicated int
	// limits means that there are also goals for latency, memory and disk.
	limits bool
}

var cases = []workload{
	{
		name: "nginx-json", set: setNginx, pipeline: "svc_identity", conns: 4, batch: 1000, target: 380_000,
		replicated: 140_000, limits: true,
	},
	{name: "app-json", set: setApp, pipeline: "svc_identity", conns: 4, batch: 1000, target: 200_000},
	{name: "nginx-json-gzip", set: setNginx, pipeline: "svc_identity", conns: 4, batch: 1000, gzip: true, target: 250_000},
	{name: "nginx12-vrl", set: setNginx, pipeline: "nginx12", conns: 4, batch: 1000, target: 120_000},
	{name: "access-dissect", set: setAccess, pipeline: "access_dissect", conns: 4, batch: 1000, target: 200_000},
	{name: "access-regex", set: setAccess, pipeline: "access_regex", conns: 4, batch: 1000, target: 200_000},
	{name: "nginx-json-10", set: setNginx, pipeline: "svc_identity", conns: 32, batch: 10, rows: 300_000, target: 60_000},
}

const header = `| work | rows/CPU-s | to reach | p50 ms | p99 ms | peak MB | written/raw | disk/raw |
|---|---|---|---|---|---|---|---|`

// bench is the configuration of all cases.
type bench struct {
	bin, data, dir string
	versus         string // the program to compare with; empty if there is none
	serveFlags     string
	profiles       string
	rows, runs     int
	nodes          int
	replicas       int // replicas of each row; 0 means one on each node
	settle         time.Duration
	queries, keep  bool
	only           *regexp.Regexp
	// again means that dir contains the folders of an earlier run, whose rows are measured.
	again bool
	stop  chan os.Signal
}

// run measures a case and prints its line, and the queries if the case has them.
func (b *bench) run(c workload) error {
	file, err := dataSet(b.data, c.set, b.rows)
	if err != nil {
		return err
	}
	bodies, err := readBodies(file, c)
	if err != nil {
		return err
	}
	var results []result
	for i := range b.runs {
		r, err := b.once(c, bodies, b.queries && b.nodes == 1 && c.name == "nginx-json" && i == b.runs-1)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(x, y result) int { return int(x.rowsPerCPU() - y.rowsPerCPU()) })
	fmt.Println(results[len(results)/2].line(c, b.nodes))
	for _, r := range results {
		if r.queries != "" {
			fmt.Print(r.queries)
		}
	}
	return nil
}

// once measures one run on new servers.
func (b *bench) once(c workload, bodies []body, queries bool) (r result, err error) {
	dir := filepath.Join(b.dir, fmt.Sprintf("%s-%d", c.name, time.Now().UnixNano()))
	g, err := b.startGroup(dir)
	if err != nil {
		return r, err
	}
	defer func() {
		if cerr := g.close(); err == nil {
			err = cerr
		}
		if err == nil && !b.keep {
			err = os.RemoveAll(dir) // the next run needs the space
		}
	}()
	if c.pipeline != "svc_identity" {
		text, err := pipelines.ReadFile("pipelines/" + c.pipeline + ".yaml")
		if err != nil {
			return r, err
		}
		if err := g[0].upload(c.pipeline, text); err != nil {
			return r, err
		}
	}
	profiled := func() error { return nil }
	if b.profiles != "" {
		profiled = g.profile(b.profiles, c.name)
	}
	if r, err = g.load(c, bodies); err != nil {
		return r, err
	}
	if err := profiled(); err != nil {
		return r, err
	}
	if err := g.settle(b.settle, &r); err != nil {
		return r, err
	}
	if queries {
		r.queries, err = g[0].timeQueries()
	}
	return r, err
}
