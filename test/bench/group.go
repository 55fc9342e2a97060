package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// group contains the servers of a run: a single server, or a cluster in which each server has a replica of all shards
// and of the metadata.
type group []*server

// startGroup starts the servers of a run on dir, with more flags, and waits until they are ready.
func (b *bench) startGroup(dir string, more ...string) (g group, err error) {
	addrs, err := b.addrs(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	if b.nodes > 1 {
		var seeds []string
		for i := range b.nodes {
			seeds = append(seeds, addrs[3*i+1])
		}
		replicas := cmp.Or(b.replicas, b.nodes)
		more = append(
			more, "--seeds", strings.Join(seeds, ","), "--meta-bootstrap-expect", fmt.Sprint(b.nodes),
			"--replication", fmt.Sprint(replicas),
		)
	}
	for i := range b.nodes {
		s, err := b.start(filepath.Join(dir, fmt.Sprint(i)), addrs[3*i:3*i+3], more...)
		if err != nil {
			return g, err
		}
		g = append(g, s)
	}
	for _, s := range g {
		if err := s.await(); err != nil {
			return g, err
		}
	}
	return g, nil
}

// addrs returns three addresses for each server of a group. If dir contains the addresses of an earlier run, it
// returns these, because the cluster has recorded them.
func (b *bench) addrs(dir string) ([]string, error) {
	file := filepath.Join(dir, "addrs")
	if b.again {
		text, err := os.ReadFile(file)
		if list := strings.Fields(string(text)); err != nil || len(list) == 3*b.nodes {
			return list, err
		}
		return nil, fmt.Errorf("%s does not have %d addresses", file, 3*b.nodes)
	}
	addrs, err := freeAddrs(3 * b.nodes)
	if err != nil || !b.keep {
		return addrs, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return addrs, os.WriteFile(file, []byte(strings.Join(addrs, " ")), 0o644)
}

// close stops all servers at once, as an operator would.
func (g group) close() error {
	faults := make([]error, len(g))
	var wg sync.WaitGroup
	for i, s := range g {
		wg.Go(func() { faults[i] = s.close() })
	}
	wg.Wait()
	return errors.Join(faults...)
}

// use returns the resources that all servers have used so far.
func (g group) use() (use, error) {
	var sum use
	for _, s := range g {
		u, err := readUse(s.pid())
		if err != nil {
			return sum, err
		}
		sum.cpu += u.cpu
		sum.peakRSS += u.peakRSS
		sum.written += u.written
	}
	return sum, nil
}

// profile takes a CPU profile of each server. The returned function waits for the profiles.
func (g group) profile(dir, name string) (wait func() error) {
	var waits []func() error
	for i, s := range g {
		file := name
		if len(g) > 1 {
			file = fmt.Sprintf("%s-node%d", name, i+1)
		}
		waits = append(waits, s.profile(filepath.Join(dir, file+".pprof")))
	}
	return func() error {
		var faults []error
		for _, wait := range waits {
			faults = append(faults, wait())
		}
		return errors.Join(faults...)
	}
}

// settle waits at least least, then until each server has used less than 4 % of a core for two seconds, and completes
// the result.
func (g group) settle(least time.Duration, r *result) error {
	begin := time.Now()
	last, err := g.use()
	for quiet := 0; err == nil && (quiet < 2 || time.Since(begin) < least) && time.Since(begin) < 5*time.Minute; {
		select {
		case <-g[0].stop:
			return errStopped
		case <-time.After(time.Second):
		}
		for _, s := range g {
			select {
			case err := <-s.done:
				s.done <- err
				return s.ended(err)
			default:
			}
		}
		var u use
		if u, err = g.use(); u.cpu-last.cpu <= 40*time.Millisecond*time.Duration(len(g)) {
			quiet++
		} else {
			quiet = 0
		}
		last = u
	}
	if err != nil {
		return err
	}
	r.cpu, r.peakRSS, r.written = last.cpu-r.before.cpu, last.peakRSS, last.written-r.before.written
	for _, s := range g {
		n, err := diskUse(filepath.Join(s.dir, "data"))
		if err != nil {
			return err
		}
		r.disk += n
	}
	return nil
}

// flushed waits until no shard has rows in memory.
func (g group) flushed() error {
	for begin := time.Now(); ; {
		age, err := g.counter("cordwood_shard_memtable_age_seconds")
		if err != nil || age == 0 {
			return err
		}
		if time.Since(begin) > 2*time.Minute {
			return fmt.Errorf("rows are still in memory after 2 minutes; the servers flush them after %s", spreadFlushAge)
		}
		select {
		case <-g[0].stop:
			return errStopped
		case <-time.After(time.Second):
		}
	}
}
