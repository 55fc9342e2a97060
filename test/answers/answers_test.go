package answers

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

var length = flag.Duration("for", time.Minute, "how long to ask; at least one round is completed")

// firstSeed returns CORDWOOD_SEED, with which a failure can be repeated, or a random seed.
func firstSeed(t *testing.T) uint64 {
	text := os.Getenv("CORDWOOD_SEED")
	if text == "" {
		return rand.Uint64() >> 32
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAnswers runs random statements on random tables for a minute, in rounds with different seeds. CORDWOOD_SEED
// repeats the round with a seed from a failure.
func TestAnswers(t *testing.T) {
	seed := firstSeed(t)
	if testing.Short() {
		*length = 0
	}
	end := time.Now().Add(*length)
	var sum tally
	for first := true; first || time.Now().Before(end); first = false {
		ok := t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Logf("repeat with: CORDWOOD_SEED=%d go test ./test/answers -run TestAnswers -for 0s", seed)
			w := newRound(t, seed)
			w.run(func() bool { return !first && time.Now().After(end) })
			sum.add(w.tally)
		})
		if !ok {
			return
		}
		seed++
	}
	t.Logf("%+v", sum)
	// Statements that fail in both forms compare nothing.
	if sum.answered*2 < sum.asked || sum.withRows*4 < sum.asked {
		t.Errorf("too few statements have answers: %+v", sum)
	}
}

func (s *tally) add(o tally) {
	s.asked += o.asked
	s.answered += o.answered
	s.withRows += o.withRows
	s.refused += o.refused
	s.oneSided += o.oneSided
}
