package iceberg

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/schema"
	"cordwood/proto/words"
)

// late is the age of the last good Run from which operators are warned.
const late = time.Hour

// metrics count what this node did as the coordinating node.
type metrics struct {
	commits, failures prometheus.Counter
}

// troubles is what a Committer tells operators.
type troubles struct {
	// good is when all tables were last shown, or nothing was left to do; zero before the first Run.
	good time.Time
	// tables is the number of tables that are shown, and held of those that are shown as they were before.
	tables, held int
	left         int64
	warnings     []string
}

// export registers the metrics.
func (c *Committer) export(reg prometheus.Registerer) {
	c.metrics = metrics{
		commits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_iceberg_commits_total",
			Help: "Commits of tables as Apache Iceberg, by this node as the coordinating node.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cordwood_iceberg_failures_total",
			Help: "Attempts to commit tables as Apache Iceberg that failed. They are repeated.",
		}),
	}
	if reg == nil {
		return
	}
	reg.MustRegister(c.metrics.commits, c.metrics.failures)
	gauge := func(name, help string, value func(troubles) float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return value(c.troubles)
		}))
	}
	gauge("cordwood_iceberg_commit_age_seconds", "Time since all tables with the option iceberg were last compared with "+
		"their commits, on the coordinating node; 0 on other nodes.", func(t troubles) float64 {
		if t.good.IsZero() {
			return 0
		}
		return max(c.cfg.Now().Sub(t.good).Seconds(), 0)
	})
	gauge("cordwood_iceberg_tables", "Tables that are shown as Apache Iceberg, on the coordinating node.",
		func(t troubles) float64 { return float64(t.tables) })
	gauge("cordwood_iceberg_tables_held", "Tables that are shown as Apache Iceberg as they were before, because older "+
		"objects do not fit their definition, on the coordinating node.", func(t troubles) float64 { return float64(t.held) })
	gauge("cordwood_iceberg_left_out_rows", "Rows in objects that are not shown as Apache Iceberg, because they were "+
		"stored before their table had the option, or together with rows of other tables, on the coordinating node.",
		func(t troubles) float64 { return float64(t.left) })
}

// report notes the outcome of a Run.
func (c *Committer) report(all []*schema.Table, err error) {
	var n troubles
	for _, t := range all {
		k := c.tables[t.ID]
		if k == nil {
			continue
		}
		n.tables++
		n.left += k.left
		name := t.Database + "." + t.Name
		if k.reason != "" {
			n.held++
			n.warnings = append(n.warnings, fmt.Sprintf("table %s is shown as Iceberg as it was before: %s; it follows when "+
				"older rows have expired, or their days were joined anew", name, k.reason))
		}
		if k.left > 0 {
			n.warnings = append(n.warnings, fmt.Sprintf("%s of table %s in object storage %s not shown as Iceberg: they were "+
				"stored before the table had the option iceberg, or together with rows of other tables", words.Count(k.left, "row"),
				name, words.Pick(k.left, "is", "are")))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.cfg.Now()
	if n.good = c.good; err == nil || n.good.IsZero() {
		n.good = now
	}
	if age := now.Sub(n.good); err != nil && age >= late {
		n.warnings = append(n.warnings, fmt.Sprintf("tables with the option iceberg were last committed %s ago: %v",
			age.Round(time.Minute), err))
	}
	c.troubles = n
}

// Resign must be called when the node no longer coordinates. It may be called during Run.
func (c *Committer) Resign() {
	c.resigned.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.troubles = troubles{}
}

// Warnings describes what an operator should know.
func (c *Committer) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.warnings
}
