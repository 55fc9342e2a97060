package pipeline

import (
	"fmt"

	"cordwood/proto/words"
	"cordwood/router/vrl/value"
)

// drops counts the records that pipelines drop without an error, because a filter matches, or because the result of
// a program is null or an empty list.
type drops struct {
	total    int
	programs []programDrops // by program, at most maxDropWarnings
}

// programDrops counts the records that one program dropped.
type programDrops struct {
	pipeline string
	position int
	records  int
}

// maxDropWarnings limits the programs that one answer lists because they dropped records.
const maxDropWarnings = 4

// drop counts the current record, which the processor at position i dropped.
func (r *runner) drop(i int) {
	d := &r.top().drops
	d.total++
	if i < 0 || r.p.processors[i].Name != "vrl" {
		return // a filter is expected to drop records
	}
	for n := range d.programs {
		if p := &d.programs[n]; p.position == i && p.pipeline == r.name {
			p.records++
			return
		}
	}
	if len(d.programs) < maxDropWarnings {
		d.programs = append(d.programs, programDrops{r.name, i, 1})
	}
}

// dropEmpty counts a record that the processors turned into an empty list.
func (r *runner) dropEmpty(v value.Value) {
	if len(v.Array().Peek()) == 0 {
		r.drop(len(r.p.processors) - 1)
	}
}

// warnings reports the programs that dropped records, if no record of the request is left. A program whose last
// line is missing drops all records.
func (d *drops) warnings() (out []string) {
	for _, p := range d.programs {
		name := "the pipeline"
		if p.pipeline != "" {
			name += " " + p.pipeline
		}
		out = append(out, fmt.Sprintf("%s dropped by %s: the result of the program in processors[%d] is null or an empty "+
			"list; end the program with . to keep its records", words.Say(p.records, "record was", "records were"), name,
			p.position))
	}
	return out
}
