// Package install fetches the state of another replica of a shard, for a replica that is new, or
// too far behind for the log of the leader.
//
// Raft must not wait for segments: it would neither vote nor append. So the snapshot of a leader,
// which only lists the segments, is held back before raft gets it, and Stage fetches the state that
// it describes. One job at a time pins the state of the leader and copies the manifest and the
// files into the folder incoming. Then raft stores the snapshot, and the shard replaces its own
// state:
//
//	on disk   incoming/* → STATE → (snapshot stored by raft) → AHEAD → incoming/ID → segments/ID
//	          → both folders synced → manifest replaced → incoming emptied
//
// After a crash before STATE is written, the next job continues with the fetched files. After a
// crash between STATE and the new manifest, the next start finds the stored snapshot and adopts the
// state again. After a later crash there are only files to remove.
//
// The package uses neither the shard's manifest nor its rows in memory: the shard calls Arrived,
// SetAhead, MoveIn and, at the end, Clear.
package install

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/shard/vfs"
)

// IDs assigns ids to segments.
type IDs interface {
	// Take returns a new id, Upcoming the next one.
	Take() uint64
	Upcoming() uint64
	// Raise makes all later ids at least next.
	Raise(next uint64)
}

// Config configures an Installer. All fields are required; Peers only in groups of several.
type Config struct {
	ShardID, Incarnation uint32
	NodeID               string
	// Dir is the folder of the shard.
	Dir string
	FS  vfs.FS
	// Peers connects to the shard service of a node.
	Peers func(nodeID string) (grpc.ClientConnInterface, error)
	// Rate limits the rate at which files are received.
	Rate *Rate
	IDs  IDs
	// Objects means that this node can read object storage. Then segments whose rows are there are not fetched.
	Objects bool
	// Full reports whether the disk is too full to fetch anything.
	Full func() bool
	// Begin records that a job has begun, and returns a function to call when it has ended.
	Begin  func(kind, detail string, totalBytes int64) (done func(error))
	Logger *slog.Logger
}

// Installer fetches the state of other replicas for one shard, by one job at a time. Its methods
// may be called concurrently.
type Installer struct {
	cfg    Config
	folder folder

	mu     sync.Mutex // guards job and closed
	job    *job
	closed bool
	ended  sync.WaitGroup

	running     atomic.Bool
	done, total atomic.Int64 // bytes
}

// job fetches the state of one replica.
type job struct {
	from   string
	cancel func()
	ended  chan struct{} // closed when err is set
	err    error
}

// New returns an Installer. It does nothing before Stage is called.
func New(cfg Config) *Installer {
	return &Installer{
		cfg:    cfg,
		folder: folder{fs: cfg.FS, dir: filepath.Join(cfg.Dir, folderName), shard: cfg.ShardID},
	}
}

// Stage fetches the state of the leader up to at least index, unless it is fetched already. If ctx
// ends, the work continues in the background.
func (n *Installer) Stage(ctx context.Context, leader string, index uint64) error {
	for {
		st, err := n.folder.state()
		if err != nil {
			return err
		}
		if st != nil && st.AppliedIndex >= index {
			return nil
		}
		job, err := n.start(leader)
		if err != nil {
			return err
		}
		select {
		case <-job.ended:
			if job.err != nil {
				return job.err
			}
		case <-ctx.Done():
			return fmt.Errorf("the state of the shard is being fetched from node %s, %d of %d bytes are fetched: %w",
				job.from, n.done.Load(), n.total.Load(), ctx.Err())
		}
	}
}

// start returns the running job, or starts a new one.
func (n *Installer) start(from string) (*job, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errs.New(errs.ShardNotReady, "shard %d: it is closing", n.cfg.ShardID)
	}
	if n.job != nil {
		return n.job, nil
	}
	if n.cfg.Full() {
		return nil, errs.New(errs.StorageUnavailable,
			"shard %d: the disk of node %s is full up to its reserve: the state of another replica is not fetched",
			n.cfg.ShardID, n.cfg.NodeID)
	}
	ctx, cancel := context.WithCancel(context.Background())
	job := &job{from: from, cancel: cancel, ended: make(chan struct{})}
	n.job = job
	n.done.Store(0)
	n.total.Store(0)
	n.running.Store(true)
	n.ended.Add(1)
	go n.run(ctx, job)
	return job, nil
}

// run runs a job.
func (n *Installer) run(ctx context.Context, job *job) {
	defer n.ended.Done()
	defer job.cancel()
	ended := n.cfg.Begin("install", "from node "+job.from, 0)
	start := time.Now()
	err := n.fetchState(ctx, job.from)
	ended(err)
	if err != nil {
		err = fmt.Errorf("shard %d: fetch the state from node %s: %w", n.cfg.ShardID, job.from, err)
		n.cfg.Logger.Warn("could not fetch the state of another replica; trying again", "from", job.from, "error", err)
	} else {
		n.cfg.Logger.Info("fetched the state of another replica", "from", job.from,
			"bytes", n.total.Load(), "took", time.Since(start).Round(time.Millisecond))
	}
	n.mu.Lock()
	n.job = nil
	n.running.Store(false)
	n.mu.Unlock()
	job.err = err
	close(job.ended)
}

// Close ends the running job, waits for it, and prevents further ones.
func (n *Installer) Close() {
	n.mu.Lock()
	n.closed = true
	if n.job != nil {
		n.job.cancel()
	}
	n.mu.Unlock()
	n.ended.Wait()
}

// Progress reports whether a job is running, how many bytes it has fetched, and the total.
func (n *Installer) Progress() (running bool, done, total int64) {
	return n.running.Load(), n.done.Load(), n.total.Load()
}
