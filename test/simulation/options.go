package simulation

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"
)

// Options describes a run. They are derived from the seed. A test may set some of them.
type Options struct {
	Seed    uint64
	Nodes   int
	Metas   int // number of nodes with the role meta
	Groups  int // shards of the cluster at its start, and tables
	Writers int // for each table
	// Merging adds a table that merges rows, and that moves with its rows.
	Merging bool
	// Cold adds a table whose rows go to object storage.
	Cold bool
	// Duration is how long faults occur, in virtual time.
	Duration time.Duration
	// Delay and Jitter apply to the network.
	Delay, Jitter time.Duration
	// Faults are the names of the faults that may occur; see faults.
	Faults []string
	// Pause is the mean time between two faults.
	Pause time.Duration
	// Mend repairs the network before each fault.
	Mend bool

	// Mutant is a deliberate fault of the program, which a checker must find.
	Mutant Mutant
	Logger *slog.Logger
}

// Mutant is a deliberate fault of the program that a checker must find.
type Mutant int

// These are the mutants.
const (
	Sound Mutant = iota
	// SkipSync acknowledges appends to the logs of shards before they are synced. SkipMetaSync does the same for the
	// log of the metadata.
	SkipSync
	SkipMetaSync
	// LoseLog restarts a node without its log and files.
	LoseLog
	// SkipDedup gives a batch another identity when it is repeated.
	SkipDedup
	// AckEarly acknowledges rows when they are sent.
	AckEarly
	// SkipFence treats a batch with an unknown outcome as not stored, and sends it to the shard that has the table
	// now.
	SkipFence
	// StaleRead reads from a replica without asking the leader for the required index.
	StaleRead
	// StaleCopy reads metadata from a copy without asking the leader for the required index.
	StaleCopy
	// LeaseRead reads from a node that considers itself the leader, without asking the other members.
	LeaseRead
	// LeaseQuery makes a node that considers itself the leader answer queries, and parts of queries, without asking the
	// other members.
	LeaseQuery
	// LearnersConfirm counts answers of learners like those of voters when members are asked whether a member still
	// leads.
	LearnersConfirm
	// TrustClock trusts the clock of a node.
	TrustClock
	// FullLies treats appends to a full disk as stored.
	FullLies
	// SwapEntry makes one node replace some entries of the leader with the entry before.
	SwapEntry
	// ForgetVotes lets a new replica vote before it knows how far its group is.
	ForgetVotes
	// ShortJoin makes one node lose a cut from a join of objects, whose rows are in the new objects all the same.
	ShortJoin
)

func (o Options) String() string {
	merging := ""
	if o.Merging {
		merging = ", one that merges rows"
	}
	if o.Cold {
		merging += ", one in object storage"
	}
	return fmt.Sprintf("seed %d: %d nodes, %d with metadata, %d shards%s, %d writers each, %s, delay %s to %s, a "+
		"fault of %s every %s",
		o.Seed, o.Nodes, o.Metas, o.Groups, merging, o.Writers, o.Duration, o.Delay, o.Delay+o.Jitter,
		strings.Join(o.Faults, ", "), o.Pause)
}

// Draw chooses the options of a seed.
func Draw(seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, 1))
	o := Options{
		Seed: seed, Nodes: 3 + 2*rng.IntN(2), Groups: 1 + rng.IntN(3), Writers: 1 + rng.IntN(3),
		Duration: time.Duration(60+rng.IntN(180)) * time.Second,
		Delay:    time.Duration(rng.IntN(20)) * time.Millisecond, Jitter: time.Duration(1+rng.IntN(20)) * time.Millisecond,
		Pause: time.Duration(2+rng.IntN(12)) * time.Second, Logger: slog.New(slog.DiscardHandler),
	}
	// The group has an odd number of voters. The other members are learners.
	o.Metas, o.Merging = 3+rng.IntN(o.Nodes-2), rng.IntN(2) == 0
	for _, f := range faults { // only some kinds of faults, because some hide others
		if rng.IntN(2) == 0 {
			o.Faults = append(o.Faults, f.name)
		}
	}
	if len(o.Faults) == 0 {
		o.Faults = []string{faults[rng.IntN(len(faults))].name}
	}
	o.Cold = rng.IntN(2) == 0
	return o
}
