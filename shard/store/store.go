package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"cordwood/shard/install"
	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// Store joins the tables of a replica and the parts that keep them on disk. A part calls those
// below it in this list directly, and those above it through functions.
type Store struct {
	Compactor *compactor
	Flusher   *Flusher
	Expiry    *Expiry
	Scrub     *Scrubber
	Ledger    *Ledger
	Files     *SegmentFiles
	Tables    *Tables

	// Parts without their own fields, which answer questions about Tables.
	Readers     Readers
	Memory      Memory
	Definitions Definitions
	Status      Status
}

// New creates the parts and connects them. It reads nothing; Open does.
func New(cfg *Config, m *Metrics, ops *Operations) *Store {
	st, dir := &Store{}, filepath.Join(cfg.Dir, SegmentDirName)
	st.Tables = newTables(cfg, m, dir)
	st.Readers.tables, st.Memory.tables = st.Tables, st.Tables
	st.Definitions.tables, st.Status.tables = st.Tables, st.Tables
	st.Files = &SegmentFiles{cfg: cfg, segmentDir: dir, tables: st.Tables}
	st.Tables.segs.removeSegment = st.Files.removeSegment
	st.Ledger = &Ledger{cfg: cfg, segmentDir: dir, metrics: m, tables: st.Tables, files: st.Files}
	st.Scrub = &Scrubber{cfg: cfg, segmentDir: dir, tables: st.Tables}
	st.Expiry = &Expiry{cfg: cfg, tables: st.Tables}
	st.Flusher = &Flusher{
		cfg: cfg, segmentDir: dir, metrics: m, tables: st.Tables, files: st.Files, ledger: st.Ledger,
		retry: map[uint64]time.Time{}, readers: &st.Readers.Open,
	}
	st.Compactor = newCompactor(&compactor{
		cfg: cfg, segmentDir: dir, metrics: m, operations: ops,
		tables: st.Tables, files: st.Files, ledger: st.Ledger, scrub: st.Scrub, expiry: st.Expiry,
	})
	st.Ledger.wakeCompactor = st.Compactor.WakeCompactor
	return st
}

// Connect gives the parts the installer of other replicas' states, and a function that is called
// when a flush has freed memory. It must be called once, after New.
func (st *Store) Connect(in *install.Installer, notifyFreed func()) {
	st.Ledger.installer, st.Ledger.notifyFreed = in, notifyFreed
}

// TakeWith makes flushes of a follower take the segments of the leader, with a function that fetches them.
func (st *Store) TakeWith(fetch FetchSegments) { st.Flusher.taking.fetch = fetch }

// Open reads the manifest and checks the segments. After an error nothing is open.
func (st *Store) Open() (state *manifest.State, err error) {
	tb, lg, cfg := st.Tables, st.Ledger, st.Tables.cfg
	if err := cfg.FS.MkdirAll(lg.segmentDir); err != nil {
		return nil, err
	}
	st.Flusher.crashes = openCrashLog(filepath.Join(cfg.Dir, FlushingFile), cfg.Logger, cfg.Crashed, readSystemState)
	st.Compactor.crashes = openCrashLog(filepath.Join(cfg.Dir, CompactingFile), cfg.Logger, cfg.Crashed, readSystemState)
	if lg.manifest, err = manifest.Open(lg.manifestConfig()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lg.manifest.Close())
		}
	}()
	state = lg.manifest.State()
	if n := lg.manifest.TornBytes(); n > 0 {
		cfg.Logger.Info("ignored an unfinished edit of the manifest", "bytes", n)
	}
	if tb.State, err = rules.NewState(cfg.ID, state); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	for i := range state.Segments {
		m := state.Segments[i]
		if err := st.Scrub.checkSegment(&m); err != nil {
			return nil, err
		}
		if m.Raw && tb.segs.damaged[m.ID] == nil {
			if tb.segs.loaded[m.ID], err = st.Files.loadRaw(&m); err != nil {
				delete(tb.segs.loaded, m.ID)
				return nil, err
			}
		}
	}
	tb.show(state, state.Segments)
	tb.openedAt = cfg.Monotonic()
	tb.ticked = tb.openedAt
	st.Files.IDs.next = max(state.NextSegmentID, 1)
	tb.Mem.Active = memtable.New(cfg.Pool)
	cfg.Budget.open(tb)
	return state, nil
}

// Sweep handles files that the manifest does not list; see SegmentFiles.sweep. It must be called
// after the replica has confirmed the manifest.
func (st *Store) Sweep() error {
	state := st.Ledger.State()
	err := st.Files.sweep(state)
	st.Ledger.mu.Lock()
	defer st.Ledger.mu.Unlock()
	st.Ledger.unswept = len(state.Garbage) > 0
	return err
}

// Close releases the memory of all rows, and closes the manifest. Views stay usable.
func (st *Store) Close() error {
	st.Flusher.withdraw()
	st.Tables.cfg.Budget.shut(st.Tables)
	st.Tables.free()
	return st.Ledger.manifest.Close()
}

// Gauges adds the gauges of all parts.
func (st *Store) Gauges(m *Metrics) {
	st.Status.gauges(m.Gauge)
	m.Gauge("cordwood_shard_compaction_debt_bytes", "Bytes of segments that should be merged.",
		func() float64 { return float64(st.Compactor.debt.Load()) })
	m.Gauge("cordwood_shard_compactions_running", "1 while a compaction runs.", func() float64 {
		return float64(st.Compactor.running.Load())
	})
	m.Gauge("cordwood_shard_lost_files", "Files in lost+found, which are removed 30 days after they were put there.",
		func() float64 { return float64(st.Files.Lost.Load()) })
}
