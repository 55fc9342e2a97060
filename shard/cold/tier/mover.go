package tier

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/compaction"
	"cordwood/shard/rules"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// Config configures a Mover. All fields but Alone, HandOver and At are required.
type Config struct {
	ShardID, Incarnation uint32
	Tier                 *Tier
	// Dir is the folder of the shard.
	Dir        string
	FS         vfs.FS
	Store      *store.Store
	Operations *store.Operations
	// Compaction limits the building of objects, together with compactions.
	Compaction *compaction.Limiter
	// SplitBytes is the size from which a table of shared segments gets objects of its own.
	SplitBytes int64
	// Allowed reports whether all nodes know the entries about object storage, JoinsAllowed whether they know joins,
	// IcebergJoinsAllowed whether they know those of tables that are shown as Iceberg, and MergingAllowed whether they
	// know cuts with tables whose rows merge.
	Allowed, JoinsAllowed, IcebergJoinsAllowed, MergingAllowed func() bool
	// Leads returns the term in which this replica leads, or 0, and a channel that is closed when that has changed.
	Leads func() (term uint64, changed <-chan struct{})
	// Barrier returns nil if this replica leads and has applied all that was committed before the call.
	Barrier func(context.Context) error
	// Alone reports whether this replica is the only voter. Nil means that it is.
	Alone func() bool
	// HandOver transfers leadership to another voter, if there is one. It must not wait for a Step. It may be nil.
	HandOver func(context.Context) error
	// Flush writes all applied rows to segments.
	Flush func(context.Context) error
	// Propose puts an entry into the log, with the present time. refused is why the rules refused it.
	Propose func(ctx context.Context, e *rules.Entry) (refused, err error)
	// Clock returns the present time of the replicated clock, on the leader.
	Clock func() time.Time
	// Now returns the time of the machine's clock.
	Now func() time.Time
	// LogBounds returns the first entry of the log and the last committed one, Committed committed entries from an index
	// on, of about so many bytes, and LogBytesAfter about how many bytes of entries are after an index. They are only used
	// if Tier.LogEvery is set.
	LogBounds     func() (first, committed uint64, err error)
	Committed     func(from uint64, maxBytes int) ([]states.LogEntry, error)
	LogBytesAfter func(index uint64) int64
	// Room reports whether there is room on the local disk for files that are being built.
	Room func() bool
	// Monotonic returns the time since some fixed moment.
	Monotonic func() time.Duration
	Logger    *slog.Logger
	// At, if set, is called before each step. Tests end a leadership in it.
	At func(step string)
}

const (
	// minPause and maxPause are the delays before what failed is tried again.
	minPause = time.Minute
	maxPause = time.Hour
	// bucketPause is the longest delay if the bucket fails, because rows wait that it may take at any time.
	bucketPause = 5 * time.Minute
	// mismatchPause is the delay after the rows of the objects were found to differ from those of the log.
	mismatchPause = 24 * time.Hour
	// maxDescribed is about how many bytes an offload may have. A cut has at least one table.
	maxDescribed = 16 << 20
)

// Mover moves the old rows of a shard to the bucket while this replica leads. It proposes cuts, builds and stores the
// objects of the open cut, proposes the offload, and deletes objects that nobody needs.
type Mover struct {
	cfg   Config
	build builder
	place states.Place
	claim *states.Claim

	turn chan struct{} // holds a token during a Step; guards the rest
	// ages says since when tables have hot rows; nil before the first look.
	ages    ages
	attempt *attempt
	deletes deletes
	lags    lags
	// nextJoin is when objects are joined next, by Config.Monotonic.
	nextJoin time.Duration
	// lastJoin is when it was last seen whether objects are to be joined.
	lastJoin time.Duration
	// aside are tables of which a join failed, and unread objects that could not be read for one.
	aside  pauses[uint64]
	unread pauses[string]
	// future says when sets with rows of the future were seen first, by their cuts. See dated.
	future map[uint64]time.Time
	stored storedState
	// logFrom says from where on the log is needed, logSaved whether that was written to a file.
	logFrom  *logFrom
	logSaved bool
	ship     shipping
	// placing guards placed. placed is whether the bucket was found to have what was stored for this shard.
	placing sync.Mutex
	placed  bool
	// dropping is held while local segments are removed; guards found, lost and tried.
	dropping sync.Mutex
	found    foundObjects
	// lost are objects to put anew, tried says when that was tried, by Config.Monotonic.
	lost  map[string]cold.Object
	tried map[string]time.Duration
	// fault is why the last step failed; nil if it did not.
	fault atomic.Pointer[string]

	end   context.CancelFunc // ends the loop
	loops sync.WaitGroup
}

// New returns a Mover. Start begins its work.
func New(cfg Config) *Mover {
	m := &Mover{cfg: cfg, turn: make(chan struct{}, 1), end: func() {}}
	m.lost, m.tried = map[string]cold.Object{}, map[string]time.Duration{}
	m.aside, m.unread = pauses[uint64]{}, pauses[string]{}
	m.place = states.Place{Bucket: cfg.Tier.Bucket, Cluster: cfg.Tier.Cluster}
	m.claim = states.NewClaim(states.ClaimConfig{
		Place: m.place, Shard: cfg.ShardID, Incarnation: cfg.Incarnation, Node: cfg.Tier.Node, Now: cfg.Now,
		Monotonic: cfg.Monotonic, Barrier: m.leadsStill,
	})
	m.build = builder{
		fs: cfg.FS, dir: filepath.Join(cfg.Dir, DirName), limiter: cfg.Compaction, split: cfg.SplitBytes,
	}
	return m
}

// leadsStill returns nil if this replica leads in a term at a moment after the call.
func (m *Mover) leadsStill(ctx context.Context, term uint64) error {
	if err := m.cfg.Barrier(ctx); err != nil {
		return err
	}
	if now, _ := m.cfg.Leads(); now != term {
		return fmt.Errorf("shard %d: this replica does not lead any more in term %d", m.cfg.ShardID, term)
	}
	return nil
}

// Start begins to move rows, from time to time.
func (m *Mover) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	m.end = cancel
	if m.shipsLog() {
		m.turn <- struct{}{}
		m.observe() // before rows are flushed
		<-m.turn
		m.loops.Go(func() { m.shipLoop(ctx) })
	}
	m.loops.Go(func() { m.loop(ctx) })
	m.loops.Go(func() { m.makeRoom(ctx) })
}

// Close ends the work, and waits until it has ended. What was begun is abandoned.
func (m *Mover) Close() {
	m.end()
	m.loops.Wait()
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	m.drop()
}

// loop does steps. If one fails, it waits longer before the next one.
func (m *Mover) loop(ctx context.Context) {
	ticker := time.NewTicker(m.cfg.Tier.Every)
	defer ticker.Stop()
	var soon <-chan time.Time
	if m.shipsLog() { // the log needs a state behind which it is
		soon = time.After(min(m.cfg.Tier.Every, m.cfg.Tier.LogEvery))
	}
	var pause, until time.Duration
	for {
		select {
		case <-ctx.Done():
			return
		case <-soon:
		case <-ticker.C:
		}
		now := m.cfg.Monotonic()
		if now < until {
			m.turn <- struct{}{}
			m.observe()
			<-m.turn
			continue
		}
		err := m.Step(ctx)
		if err == nil || ctx.Err() != nil {
			pause, until = 0, 0
			continue
		}
		pause = min(max(2*pause, minPause), longestPause(err))
		if isMismatch(err) {
			pause = mismatchPause
		}
		until = now + pause
		m.cfg.Logger.Warn("could not move old rows to object storage; they stay on the local disk", "error", err,
			"retry_in", pause)
	}
}

// longestPause returns the longest delay before a step is tried again that failed.
func longestPause(err error) time.Duration {
	if _, known := bucket.KindOf(err); known || states.IsRival(err) {
		return bucketPause
	}
	return maxPause
}

// Warnings returns texts about steps that failed, and will be tried again, and about what the log lacks. It may be
// called concurrently.
func (m *Mover) Warnings() []string {
	list := m.logWarnings()
	if text := m.fault.Load(); text != nil {
		list = append(list, fmt.Sprintf("shard %d: old rows are not moved to object storage, and stay on the local disk: %s",
			m.cfg.ShardID, *text))
	}
	return list
}

// Step does what is to be done now, and returns when nothing is left: it proposes a cut if there is none and rows are
// old, and moves the rows of the open cut. On a replica that does not lead it only removes local segments whose rows
// are in the bucket.
func (m *Mover) Step(ctx context.Context) error {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	err := m.step(ctx)
	switch {
	case err == nil:
		m.fault.Store(nil)
	case ctx.Err() == nil:
		text := strings.ToValidUTF8(err.Error(), "\uFFFD")
		m.fault.Store(&text)
	}
	return err
}

func (m *Mover) step(ctx context.Context) error {
	hot := m.observe()
	if err := m.writeSets(ctx); err != nil {
		return err
	}
	if err := m.dropTwins(ctx); err != nil {
		return err
	}
	term, changed := m.cfg.Leads()
	if term == 0 || !m.cfg.Allowed() {
		m.drop()
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := m.cfg.Barrier(ctx); err != nil {
		return err
	}
	if err := m.checkPlace(ctx); err != nil {
		return err
	}
	if err := m.putAnew(ctx, term); err != nil && ctx.Err() == nil {
		m.cfg.Logger.Warn("could not store objects again that are missing or damaged; it is tried again", "error", err)
	}
	m.storeState(ctx, term)
	if last, _ := m.cuts(); last > 0 { // before the first cut there is nothing that another group could remove
		if err := m.claim.Check(ctx, term, states.ClaimIdle); err != nil {
			return err
		}
	}
	m.clean(ctx, term) // before anything is stored: a bucket that is full needs the room
	if _, open := m.cuts(); open != nil && len(open.Joins) > 0 {
		if err := m.giveUpJoin(ctx, open); err != nil {
			return err
		}
	}
	open, err := m.openCut(ctx, hot)
	switch {
	case err != nil:
		return err
	case open == nil:
		m.drop() // an offload whose outcome was unknown was applied, and nothing is to be done since
		m.join(ctx, term)
	default:
		if err := m.offload(ctx, term, open); err != nil {
			return err
		}
		// If a table has enough rows for a cut at each step, small objects would never be joined.
		if m.cfg.Monotonic()-m.lastJoin >= joinPause {
			m.join(ctx, term)
		}
	}
	return nil
}

// writeSets flushes if the manifest lacks a set, or has one that is gone, although no rows are in memory. Every replica
// does, because what is on disk decides which segments may go, and is what storeState stores.
func (m *Mover) writeSets(ctx context.Context) error {
	n, last, joined := 0, uint64(0), 0
	m.cfg.Store.Status.Inspect(func(st *rules.State) {
		for _, set := range st.Sets() {
			n, last, joined = n+1, set.Number, joined+countJoined(set)
		}
	})
	sets := m.cfg.Store.Ledger.State().Sets
	for i := range sets {
		joined -= countJoined(&sets[i])
	}
	if n == len(sets) && (n == 0 || sets[n-1].Number == last) && joined == 0 {
		return nil
	}
	m.at("sets")
	return m.cfg.Flush(ctx)
}

// at calls Config.At.
func (m *Mover) at(step string) {
	if m.cfg.At != nil {
		m.cfg.At(step)
	}
}
