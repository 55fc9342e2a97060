package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const versusHeader = `| work | rows/CPU-s, base | rows/CPU-s | ratio | p99 ms, base | p99 ms ` +
	`| peak MB, base | peak MB | all ratios |
|---|---|---|---|---|---|---|---|---|`

// pair is one run of a case by two programs at the same time.
type pair struct{ base, now result }

func (p *pair) ratio() float64 { return p.now.rowsPerCPU() / p.base.rowsPerCPU() }

// runVersus measures a case with two programs at the same time, each with a server and a load of its own, and prints
// the run with the median ratio. Whatever else uses the cores of the machine slows both.
func (b *bench) runVersus(c workload) error {
	file, err := dataSet(b.data, c.set, b.rows)
	if err != nil {
		return err
	}
	bodies, err := readBodies(file, c)
	if err != nil {
		return err
	}
	var pairs []pair
	for range b.runs {
		p, err := b.together(c, bodies)
		if err != nil {
			return err
		}
		pairs = append(pairs, p)
	}
	median := medianPair(pairs)
	all := make([]string, len(pairs))
	for i := range pairs {
		all[i] = fmt.Sprintf("%.2f", pairs[i].ratio())
	}
	fmt.Printf("%s %s |\n", median.line(c), strings.Join(all, ", "))
	return nil
}

// together runs a case once with each program.
func (b *bench) together(c workload, bodies []body) (p pair, err error) {
	base, now := *b, *b
	base.bin, base.profiles = b.versus, ""
	base.dir, now.dir = filepath.Join(b.dir, "base"), filepath.Join(b.dir, "now")
	if err := errors.Join(os.MkdirAll(base.dir, 0o755), os.MkdirAll(now.dir, 0o755)); err != nil {
		return p, err
	}
	done := make(chan error, 1)
	go func() {
		var err error
		p.base, err = base.once(c, bodies, false)
		done <- err
	}()
	p.now, err = now.once(c, bodies, false)
	return p, errors.Join(err, <-done)
}

// medianPair sorts the runs by their ratios, and returns the one in the middle.
func medianPair(pairs []pair) *pair {
	slices.SortFunc(pairs, func(x, y pair) int {
		if x.ratio() < y.ratio() {
			return -1
		}
		return 1
	})
	return &pairs[len(pairs)/2]
}

// line returns the result as a row of the table.
func (p *pair) line(c workload) string {
	return fmt.Sprintf("| %s | %.0f | %.0f | %.2f | %.1f | %.1f | %.0f | %.0f |", c.name, p.base.rowsPerCPU(),
		p.now.rowsPerCPU(), p.ratio(), ms(p.base.p99), ms(p.now.p99), float64(p.base.peakRSS)/1e6, float64(p.now.peakRSS)/1e6)
}
