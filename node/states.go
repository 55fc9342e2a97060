package node

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/metapb"
	"cordwood/shard/cold/states"
)

// StatesKey is the purpose of the key by which users, roles and tokens are encrypted in object storage. It is part of
// the format.
const StatesKey = "cordwood metadata in object storage"

const (
	// stateTimeout limits storing one state of the metadata.
	stateTimeout = 5 * time.Minute
	// statePause is the pause after a failure.
	statePause = time.Minute
)

// AccessName is what the encrypted users, roles and tokens of a state are authenticated with.
func AccessName(cluster string, index uint64) string { return fmt.Sprintf("%s/%d", cluster, index) }

// metadataStore stores the state of the metadata in object storage while this node leads their group.
type metadataStore struct {
	n     *node
	place states.Place
	claim *states.Claim
	// every is how often it is seen whether the metadata have changed, aliveEvery how often it is noted that the cluster
	// runs, and noted when it was.
	every, aliveEvery time.Duration
	noted             time.Time
	// index and term are those of the metadata that were looked at last, sum is the checksum of what was stored.
	index, term uint64
	sum         [sha256.Size]byte
	failing     string
	// behind is when storing began to fail, in nanoseconds since 1970; 0 if it does not fail.
	behind atomic.Int64
}

// storeMetadata begins to store the states of the metadata, if this node is a member of their group and there is object
// storage.
func (n *node) storeMetadata() {
	if n.member == nil || n.objects == nil {
		return
	}
	cluster, _ := n.data.Cluster()
	s := &metadataStore{
		n: n, place: states.Place{Bucket: n.objects.afterCheck(n.objects.guard), Cluster: cluster},
		every: n.cfg.Objects.MetadataEvery(), aliveEvery: n.cfg.Objects.StateEvery(),
	}
	s.claim = states.NewClaim(states.ClaimConfig{
		Place: s.place, Node: n.describe(), Now: time.Now, Monotonic: func() time.Duration { return time.Since(n.begin) },
		Barrier: func(ctx context.Context, term uint64) error {
			now, err := s.leadsIn(ctx)
			if err == nil && now != term {
				err = fmt.Errorf("this node does not lead the metadata any more in term %d", term)
			}
			return err
		},
	})
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_cold_metadata_lag_seconds",
		Help: "For how long the state of the metadata could not be stored in object storage, on their leader; 0 if it could.",
	}, s.lag))
	n.states = s
	n.run("storing the state of the metadata", s.run)
}

func (s *metadataStore) lag() float64 {
	at := s.behind.Load()
	if at == 0 || !s.n.member.Leads() {
		return 0
	}
	return max(time.Since(time.Unix(0, at)).Seconds(), 0)
}

func (s *metadataStore) run(ctx context.Context) error {
	for {
		changed := s.n.member.LeadsChanged()
		pause := s.every
		if s.n.member.Leads() {
			s.behind.CompareAndSwap(0, time.Now().UnixNano()) // step may wait for a check of the bucket
			if err := s.step(ctx); err != nil && ctx.Err() == nil {
				pause = min(statePause, s.every)
				if text := err.Error(); text != s.failing {
					s.failing = text
					s.n.log.Warn("could not store the state of the metadata in object storage; it is tried again", "error", err,
						"retry_in", pause)
				}
			} else if err == nil {
				s.failing = ""
				s.behind.Store(0)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(pause):
		}
	}
}

// leadsIn returns the term in which this node leads the metadata at a moment after the call.
func (s *metadataStore) leadsIn(ctx context.Context) (term uint64, err error) {
	at, err := s.n.member.ReadIndex(ctx, &metapb.ReadIndexRequest{})
	return at.GetTerm(), err
}

// checkRivals returns an error if this node does not lead the metadata, or if another cluster with the same id uses the
// bucket.
func (s *metadataStore) checkRivals(ctx context.Context) error {
	term, err := s.leadsIn(ctx)
	if err != nil {
		return err
	}
	return s.claim.Check(ctx, term, states.ClaimForPut)
}

// step notes that the cluster runs, and stores the state if it has changed.
func (s *metadataStore) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	if time.Since(s.noted) >= s.aliveEvery {
		if err := s.place.CheckOwner(ctx); err != nil {
			return err
		}
		err := s.place.SetAlive(ctx, states.Alive{Written: time.Now().UTC(), Every: s.aliveEvery.Seconds()})
		if err != nil {
			return err
		}
		s.noted = time.Now()
	}
	if err := s.checkRivals(ctx); err != nil {
		return err
	}
	at, err := s.n.member.ReadIndex(ctx, &metapb.ReadIndexRequest{})
	if err != nil || at.Index == s.index && at.Term == s.term {
		return err
	}
	e, err := s.n.member.Export()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(e.Plain)
	sum = sha256.Sum256(append(sum[:], e.Access...))
	if s.term == at.Term && sum == s.sum { // for example because a command was refused
		s.index = e.Index
		return nil
	}
	m := states.Metadata{Plain: e.Plain}
	if source := s.n.protection.secret; source != nil {
		name := AccessName(s.place.Cluster, e.Index)
		if m.Access, err = states.Seal(source.Keys(StatesKey)[0], name, e.Access); err != nil {
			return err
		}
	}
	err = s.place.Put(ctx, states.Header{Index: e.Index, Term: e.Term, Written: time.Now().UTC()}, m.Encode())
	if err != nil {
		return err
	}
	s.index, s.term, s.sum = e.Index, at.Term, sum
	return nil
}
