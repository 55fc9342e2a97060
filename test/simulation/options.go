package simulation

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"
)

// Options say what a run does. They are drawn from the seed; a test may set some.
type Options struct {
	Seed    uint64
	Nodes   int
	Metas   int // how many of the nodes have the role meta
	Groups  int // shards that the cluster is made with, and tables
	Writers int // for each table
	// Merging has one more table, which merges rows: its moves take the rows along.
	Merging bool
	// Duration is how long the nodes are broken, in virtual time.
	Duration time.Duration
	// Delay and Jitter are those of the network.
	Delay, Jitter time.Duration
	// Faults are the names of those that may occur; see faults.
	Faults []string
	// Pause is the mean time between two faults.
	Pause time.Duration
	// Mend repairs the network before each fault.
	Mend bool

	// Mutant breaks the system on purpose: a checker has to find it.
	Mutant Mutant
	Logger *slog.Logger
}

// Mutant is a fault of the program that a checker must find.
type Mutant int

// The mutants.
const (
	Sound Mutant = iota
	// SkipSync answers appends to the logs of shards before they are synced, SkipMetaSync
	// those to the log of the metadata.
	SkipSync
	SkipMetaSync
	// LoseLog has a node come back without its log and files.
	LoseLog
	// SkipDedup gives a batch another identity when it is sent again.
	SkipDedup
	// AckEarly acknowledges what was only sent.
	AckEarly
	// SkipFence takes it that a batch whose fate is unknown was not stored, and sends it to
	// the shard where the table is now.
	SkipFence
	// StaleRead reads from a replica without asking the leader how far it must be.
	StaleRead
	// StaleCopy reads metadata from a copy without asking the leader how far it must be.
	StaleCopy
	// LeaseRead reads from whoever takes itself for the leader, without asking the other members.
	LeaseRead
	// LearnersConfirm takes the answers of learners for those of voters, when others are asked
	// whether one still leads.
	LearnersConfirm
	// TrustClock believes what the clock of a node says.
	TrustClock
	// FullLies takes what a full disk did not store for stored.
	FullLies
	// SwapEntry has one node take some entries of the leader for the ones before them.
	SwapEntry
)

func (o Options) String() string {
	merging := ""
	if o.Merging {
		merging = ", one that merges rows"
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
	// the group has voters in an odd number, and the others learn
	o.Metas, o.Merging = 3+rng.IntN(o.Nodes-2), rng.IntN(2) == 0
	for _, f := range faults { // a swarm: some faults hide others
		if rng.IntN(2) == 0 {
			o.Faults = append(o.Faults, f.name)
		}
	}
	if len(o.Faults) == 0 {
		o.Faults = []string{faults[rng.IntN(len(faults))].name}
	}
	return o
}
