package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"cordwood/node/config"
	"cordwood/shard/memtable"
	"cordwood/shard/query/engine"
	"cordwood/shard/query/spool"
	"cordwood/shard/query/worker"
	"cordwood/shard/server"
)

// QueryWorkerCommand is the subcommand with which a server starts this program to run its queries.
const QueryWorkerCommand = worker.Subcommand

// RunQueryWorker is the main function of a query worker process. It returns the exit status.
func RunQueryWorker(v Version) int { return worker.Main(v.build()) }

// build returns a text that differs between builds of the program.
func (v Version) build() string {
	return fmt.Sprintf("%s %s %s %s", v.Version, v.Commit, v.Branch, v.Go)
}

// openEngine opens the query engine for the segments below shardDir and the rows in pool. It runs in a process of its
// own, unless the settings choose otherwise.
//
// The spool keeps the rows that a running query fetches from other nodes.
func (n *node) openEngine(
	shardDir string, pool *memtable.Pool, shares config.Shares,
) (server.Engine, *spool.Dir, error) {
	tmp := n.cfg.Path("tmp")
	// A killed process may have left files.
	if err := os.RemoveAll(tmp); err != nil {
		return nil, nil, fmt.Errorf("empty folder of temporary files: %w", err)
	}
	q := &n.cfg.Query
	tmp, err := filepath.Abs(tmp)
	if err != nil {
		return nil, nil, err
	}
	fetched := filepath.Join(tmp, "fetched")
	rows, err := spool.Open(fetched, int64(q.TempLimit), shares.Queries/4)
	if err != nil {
		return nil, nil, err
	}
	dirs := []string{shardDir, fetched}
	if n.objects != nil {
		dirs = append(dirs, n.objects.dir)
	}
	if q.InProcess {
		n.log.Warn("queries run in the server's own process (--query-in-process): a query that crashes ends the server")
		e, err := engine.Open(engine.Config{
			MemoryLimit: shares.Queries, Threads: q.Threads, Concurrency: q.MaxConcurrent,
			TempDir: tmp, TempLimit: int64(q.TempLimit), Dirs: dirs, Logger: n.log,
			PartialCache: keptByEngine(q, shares),
		})
		if err != nil {
			return nil, nil, err
		}
		n.onStop("query engine", func(context.Context) error { return e.Close() })
		return e, rows, nil
	}
	w, err := worker.Open(worker.Config{
		MemoryLimit: shares.Queries, Threads: q.Threads, Nice: q.Nice,
		Concurrency: q.MaxConcurrent, PerUser: q.MaxConcurrentPerUser, Waiting: q.MaxWaiting, MaxWait: q.MaxWait,
		Grace: q.KillGrace, Drain: q.KillDrain, MaxKills: q.MaxKillsPerUser, KillWindow: 2 * q.RefuseFor,
		RefuseFor: q.RefuseFor,
		TempDir:   tmp, TempLimit: int64(q.TempLimit), Dirs: dirs,
		PartialCache: keptByEngine(q, shares),
		Memory:       pool, Build: n.proc.Version.build(), Logger: n.log, Registerer: n.registry,
	})
	if err != nil {
		return nil, nil, err
	}
	n.queryCPU = w.QueryCPU
	n.onStop("query worker", func(context.Context) error { return w.Close() })
	return w, rows, nil
}

// keptMemory returns the share of the query memory for cached partial results.
func keptMemory(q *config.Query, shares config.Shares) int64 {
	return min(int64(q.KeptMemory), shares.Queries/8)
}

// keptByServer returns the part of keptMemory for the answers that the server keeps.
func keptByServer(q *config.Query, shares config.Shares) int64 { return keptMemory(q, shares) / 4 }

// keptByEngine returns the part of keptMemory for the results of segments in the engine, or -1 if none are kept.
func keptByEngine(q *config.Query, shares config.Shares) int64 {
	if q.KeptMemory == 0 {
		return -1
	}
	return keptMemory(q, shares) - keptByServer(q, shares)
}
