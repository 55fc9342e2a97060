package pipeline

import (
	"fmt"

	"cordwood/proto/words"
	"cordwood/router/vrl/value"
)

// drops count the records that pipelines drop without an error: a filter that matches, or a program whose result is
// null or an empty list.
type drops struct {
	total    int
	programs []programDrops // by program, at most maxDropWarnings
}

// programDrops are the records that one program dropped.
type programDrops struct {
	pipeline string
	position int
	records  int
}

// maxDropWarnings bounds the programs that one answer names because of the records that they dropped.
const maxDropWarnings = 4

// drop counts the record under way, which the processor at position i dropped.
func (r *runner) drop(i int) {
	d := &r.top().drops
	d.total++
	if i < 0 || r.p.processors[i].Name != "vrl" {
		return // a filter says by itself that it drops
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

// dropEmpty counts a record that the processors made an empty list of.
func (r *runner) dropEmpty(v value.Value) {
	if len(v.Array().Peek()) == 0 {
		r.drop(len(r.p.processors) - 1)
	}
}

// warnings name the programs that dropped records, for a request with no records left: a program that lacks its last
// line drops all.
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
