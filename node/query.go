package node

import (
	"context"
	"fmt"
	"os"

	"cordwood/shard"
	"cordwood/shard/memtable"
	"cordwood/shard/query/engine"
	"cordwood/shard/query/worker"
)

// QueryWorkerCommand is the subcommand as which this program runs queries for a server.
const QueryWorkerCommand = worker.Subcommand

// RunQueryWorker is the whole of a process that a server started to run queries. It
// returns the status to exit with.
func RunQueryWorker(v Version) int { return worker.Main(v.build()) }

// build tells apart programs that are not the same.
func (v Version) build() string {
	return fmt.Sprintf("%s %s %s %s", v.Version, v.Commit, v.Branch, v.Go)
}

// openEngine opens what runs queries over the segments below shardDir and rows in the
// memory of pool: a process of its own, unless the settings say otherwise.
func (n *node) openEngine(shardDir string, pool *memtable.Pool, memory int64) (shard.Engine, error) {
	tmp := n.cfg.dir("tmp")
	// What a killed process left behind.
	if err := os.RemoveAll(tmp); err != nil {
		return nil, fmt.Errorf("empty folder of temporary files: %w", err)
	}
	q := &n.cfg.Query
	if q.InProcess {
		n.log.Warn("queries run in the server's own process (--query-in-process): one that goes wrong can end it")
		e, err := engine.Open(engine.Config{
			MemoryLimit: orQuarter(q.Memory, memory), Threads: q.Threads, Concurrency: q.MaxConcurrent,
			TempDir: tmp, TempLimit: int64(q.TempLimit), Dirs: []string{shardDir}, Logger: n.log,
		})
		if err != nil {
			return nil, err
		}
		n.onStop("query engine", func(context.Context) error { return e.Close() })
		return e, nil
	}
	w, err := worker.Open(worker.Config{
		MemoryLimit: orQuarter(q.Memory, memory), Threads: q.Threads, Nice: q.Nice,
		Concurrency: q.MaxConcurrent, Waiting: q.MaxWaiting, MaxWait: q.MaxWait, Grace: q.KillGrace,
		TempDir: tmp, TempLimit: int64(q.TempLimit), Dirs: []string{shardDir},
		Memory: pool, Build: n.proc.Version.build(), Logger: n.log, Registerer: n.registry,
	})
	if err != nil {
		return nil, err
	}
	n.onStop("query worker", func(context.Context) error { return w.Close() })
	return w, nil
}
