package turns

import (
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/words"
)

// Databases calls each for each database with the numbers of its running and waiting queries.
func (g *Gate) Databases(each func(database string, running, waiting int)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, d := range g.groups {
		if d.running > 0 || d.waiting > 0 {
			each(name, d.running, d.waiting)
		}
	}
}

// Counts returns the numbers of running and waiting queries.
func (g *Gate) Counts() (running, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used, g.waits
}

func (g *Gate) busy(format string, args ...any) error {
	e := errs.New(errs.ShardBusy, format, args...)
	e.Msg += "; try again later"
	return e.WithRetryAfter(time.Second)
}

// running and waiting return a number of queries as a text.
func running(n int) string { return words.Say(n, "query is running", "queries are running") }

func waiting(n int) string { return words.Say(n, "waits", "wait") }
