package write

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// request is one call of Write.
type request struct {
	targets  []*target
	warnings []string
	keyed    bool // its batches have their own ids
}

// target has the rows of one table with one set of options.
type target struct {
	rows *pipeline.TableRows
	// table is the table to which the column ids refer. ensure sets it.
	table   *schema.Table
	existed bool
	// deletes is set if the rows are deletions, marked by the hidden column schema.DeletedColumn, which no table
	// defines. They contain key columns only.
	deletes bool
	group   int
	jobs    []*job
	divided bool // the jobs are divided by partition
}

// job has the rows of one batch.
type job struct {
	target   *target
	from, to int // the range among all rows of the target
	bytes    int // estimated size before encoding
	// sealed has the rows if they are already encoded. Otherwise they are in a builder, which does not contain the
	// first base rows of the target.
	sealed *column.Sealed
	base   int
	acked  bool
	err    error // the error of the last try

	// shard takes the rows; avoid lists shards that could not take them.
	shard uint32
	avoid []uint32
	// id is the id of the batch, if the request has a key.
	id batchID
	// body is set if id contains the hash of the body.
	body bool
	// part, if not nil, has the job's rows, all of one partition.
	part *partition
}

// firstTable has what newRequest needs for one table with one batch. Most requests are no larger, so they are
// allocated at once.
type firstTable struct {
	request request
	target  target
	job     job
	targets [1]*target
	jobs    [1]*job
}

// newRequest divides the rows of out into batches. Tables without rows are left out.
func newRequest(cfg *Config, out *pipeline.Output) *request {
	first := &firstTable{}
	req := &first.request
	var groups map[string]int
	for _, tr := range out.Tables {
		if tr.Count() == 0 {
			continue
		}
		tr.Rows.Finish()
		t, j := &first.target, &first.job
		if req.targets == nil {
			req.targets, t.jobs = first.targets[:0], first.jobs[:0]
		} else {
			t, j = &target{}, &job{}
		}
		t.rows, t.deletes = tr, slices.ContainsFunc(tr.Rows.Cols(), isDeletedColumn)
		if !tr.Internal && len(out.Tables) > 1 {
			if groups == nil {
				groups = map[string]int{}
			}
			key := strconv.Itoa(tr.Branch) + "\x00" + optionKey(tr.Options)
			g, ok := groups[key]
			if !ok {
				g = len(groups)
				groups[key] = g
			}
			t.group = g
		}
		t.addParts()
		t.cut(cfg, j)
		req.targets = append(req.targets, t)
	}
	return req
}

func isDeletedColumn(c *column.Col) bool { return c.ID == schema.DeletedColumnID }

// addParts creates a job for each encoded part.
func (t *target) addParts() {
	from := 0
	for _, p := range t.rows.Parts {
		t.jobs = append(t.jobs, &job{target: t, from: from, to: from + p.Rows(), bytes: p.ByteSize(), sealed: p})
		from += p.Rows()
	}
}

// cut creates as few jobs as the limits allow for the rows that are not encoded yet. Each has at least one row. The
// first one is j.
func (t *target) cut(cfg *Config, j *job) {
	n, size := t.rows.Rows.Rows(), t.rows.Rows.ByteSize()
	base := t.rows.Count() - n
	if n == 0 {
		return
	}
	*j = job{target: t, base: base, from: base}
	if n <= cfg.MaxBatchRows && size <= cfg.MaxBatchBytes {
		j.to, j.bytes = base+n, size
		t.jobs = append(t.jobs, j)
		return
	}
	fixed := 0
	var texts []*column.Col
	for _, c := range t.rows.Rows.Cols() {
		fixed += 8
		if c.Type.IsBytes() {
			texts = append(texts, c)
		}
	}
	for row := range n {
		bytes := fixed
		for _, c := range texts {
			bytes += len(c.Bytes(row))
		}
		if at := base + row; at > j.from && (at-j.from == cfg.MaxBatchRows || j.bytes+bytes > cfg.MaxBatchBytes) {
			j.to = at
			t.jobs = append(t.jobs, j)
			j = &job{target: t, base: base, from: at}
		}
		j.bytes += bytes
	}
	j.to = base + n
	t.jobs = append(t.jobs, j)
}

// optionKey returns equal keys for equal sets of options.
func optionKey(options map[string]string) string {
	if len(options) == 0 {
		return ""
	}
	pairs := make([]string, 0, len(options))
	for k, v := range options {
		pairs = append(pairs, k+"\x00"+v)
	}
	sort.Strings(pairs)
	return strings.Join(pairs, "\x01")
}

// discarded reports whether the table discards its rows at once.
func (t *target) discarded() bool {
	return t.table.Options[schema.OptionTTL] == "instant"
}

func (t *target) name() string { return t.rows.Database + "." + t.rows.Table }

// pending returns the targets with rows that are not stored yet.
func (r *request) pending() []*target {
	if len(r.targets) == 1 && len(r.targets[0].jobs) == 1 && !r.targets[0].jobs[0].acked {
		return r.targets
	}
	var out []*target
	for _, t := range r.targets {
		if slices.ContainsFunc(t.jobs, func(j *job) bool { return !j.acked }) {
			out = append(out, t)
		}
	}
	return out
}

// counts returns the number of rows that were stored, and of all rows.
func (r *request) counts() (acked, total int) {
	for _, t := range r.targets {
		for _, j := range t.jobs {
			total += j.to - j.from
			if j.acked && (t.table == nil || !t.discarded()) {
				acked += j.to - j.from
			}
		}
	}
	return acked, total
}

func (r *request) result() Result {
	res := Result{Warnings: r.warnings}
	for _, t := range r.targets {
		if t.rows.Internal {
			continue // it does not come from the client
		}
		for len(res.Groups) <= t.group {
			res.Groups = append(res.Groups, Group{})
		}
		if n := t.rows.Count(); !t.discarded() {
			res.Groups[t.group].AffectedRows += n
			res.Rows += n
		}
	}
	return res
}

// warnNoKey adds a warning if the request created a table that keeps only one row for each time.
func (r *request) warnNoKey(t *target) {
	if t.rows.Options[schema.OptionAppendMode] != "false" || t.table.AppendMode() || len(t.table.Tags()) > 0 {
		return
	}
	text := schema.NoKeyWarning("table "+t.name(), t.table.MergeMode())
	if !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// warnOptions adds a warning for each option in the request that the existing table does not have.
func (r *request) warnOptions(t *target) {
	var keys []string
	for k, v := range t.rows.Options {
		switch {
		case t.table.Options[k] == v:
		case k == schema.OptionAppendMode && v == "true", k == schema.OptionComment, k == schema.OptionAutoCreateTable:
			// Every log write requests these options, even if the client does not set them.
		default:
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		has, ok := t.table.Options[k]
		if !ok {
			has = "not set"
		}
		r.warnings = append(r.warnings, fmt.Sprintf(
			"table %s exists: option %s=%s was not applied, it is %s; change it by ALTER TABLE", t.name(), k,
			t.rows.Options[k], has))
	}
}
