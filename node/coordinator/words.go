package coordinator

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// round is a time for people: to the second, above a minute to half a minute.
func round(d time.Duration) string {
	unit := time.Second
	if d > time.Minute {
		unit = time.Minute / 2
	}
	text := d.Round(unit).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// few are the first of many.
func few(list []string) string {
	if len(list) > 8 {
		return strings.Join(list[:8], ", ") + fmt.Sprintf(" and %d more", len(list)-8)
	}
	return strings.Join(list, ", ")
}

// label is a node by its name if no other has the same, else by its id.
func (p *picture) label(id string) string {
	name := p.name(id)
	same := 0
	for _, n := range p.status.Nodes {
		if n.GetNode().GetName() == name {
			same++
		}
	}
	if same > 1 {
		return id
	}
	return name
}

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if a, b, ok := strings.Cut(thing, " or "); ok {
		return fmt.Sprintf("%d %ss or %ss", n, a, b)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// nodeID finds ids of nodes, which are ULIDs.
var nodeID = regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`)

// spell calls the nodes in the text of an error by their names, with their addresses.
func (p *picture) spell(text string) string {
	return nodeID.ReplaceAllStringFunc(text, func(id string) string {
		if n := p.nodes[id].GetNode(); n.GetRpcAddr() != "" {
			return fmt.Sprintf("%s (%s)", p.label(id), n.RpcAddr)
		}
		return id
	})
}

func (p *picture) labels(ids []string) string {
	var out []string
	for _, id := range ids {
		out = append(out, p.label(id))
	}
	return few(out)
}
