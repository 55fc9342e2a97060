package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/meta/placement"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi"
)

// The severities of problems.
const (
	critical = "critical" // something does not work
	warning  = "warning"  // something is to be done
	info     = "info"     // good to know
)

// diagnose says what is wrong with the cluster, in words, and what to do, the worst first.
func diagnose(p *picture) []httpapi.ClusterProblem {
	d := &diagnosis{p: p}
	d.leaderlessShards()
	d.metadata()
	d.starting()
	d.downNodes()
	d.stoppingNodes()
	d.silentNodes()
	d.unheardNodes()
	d.unreachableNodes()
	d.apart()
	d.damagedReplicas()
	d.stuckReplicas()
	d.rowsAside()
	d.missingReplicas()
	d.unreadyReplicas()
	d.operations()
	d.disks()
	d.clocks()
	d.versions()
	d.unprotected()
	d.notes()
	slices.SortStableFunc(d.out, func(a, b httpapi.ClusterProblem) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	if d.out == nil {
		return []httpapi.ClusterProblem{}
	}
	return d.out
}

var severities = []string{critical, warning, info}

type diagnosis struct {
	p   *picture
	out []httpapi.ClusterProblem
}

func (d *diagnosis) add(severity, advice, format string, args ...any) {
	d.out = append(d.out, httpapi.ClusterProblem{Severity: severity, Text: fmt.Sprintf(format, args...), Advice: advice})
}

func (d *diagnosis) metadata() {
	p := d.p
	if len(p.status.Members) == 0 {
		return
	}
	var silent, stopping []string
	for _, m := range p.metaVoters() {
		switch {
		case p.metaPresent(m):
		case p.stops(m.NodeId):
			stopping = append(stopping, m.NodeId)
		default:
			silent = append(silent, m.NodeId)
		}
	}
	missing := slices.Concat(silent, stopping)
	does, advice := "does not answer", "look whether other nodes reach it, and start it again if nothing runs there"
	switch {
	case len(silent) == 0 && len(missing) == 1:
		does, advice = "is stopping", "start it again once it has ended"
	case len(silent) == 0:
		does, advice = "are stopping", "start them again once they have ended"
	case len(missing) > 1:
		does, advice = "do not answer", "look whether other nodes reach them, and start them again if nothing runs there"
	}
	switch tolerance := p.metaLeft("", p.metaPresent); {
	case len(missing) > 0 && tolerance <= 0:
		d.add(warning, advice+"; a voter whose node is lost is replaced after a while, if another node has the role meta",
			"the metadata group has %d voters, of which %s %s: if another one fails, schemas and placement cannot change", len(p.metaVoters()), p.labels(missing), does)
	case len(missing) > 0:
		d.add(warning, advice, "voter %s of the metadata group %s", p.labels(missing), does)
	case len(p.metaVoters())%2 == 0:
		severity := info
		if slices.ContainsFunc(p.status.Shards, func(s *metapb.Shard) bool { return want(s) > 2 }) {
			severity = warning // others are to survive the loss of a node
		}
		d.add(severity, "add a node with the role meta, which becomes a voter by itself", "the metadata group has %d voters, which tolerate no more than %d do: %d may fail", len(p.metaVoters()), len(p.metaVoters())-1, max(tolerance, 0))
	}
}

func (d *diagnosis) downNodes() {
	p := d.p
	blocked := p.blockedRepairs()
	homeless := func(id string) string {
		for _, s := range p.status.Shards {
			if slices.Contains(s.Replicas, id) && len(s.Replicas) > 1 && blocked[s.Id] != "" {
				return blocked[s.Id]
			}
		}
		return ""
	}
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		if n.Refused != "" {
			d.add(warning, "see its log; docs/limits.md says what holds when disks go back", "node %s was refused when it started: %s", p.label(id), n.Refused)
		}
		if !n.Down {
			continue
		}
		replicas := 0
		for _, s := range p.status.Shards {
			if slices.Contains(s.Replicas, id) {
				replicas++
			}
		}
		if p.emptied(id) {
			// Whoever emptied it wanted it to stop, and may want it back.
			d.add(info, fmt.Sprintf("'cordwood node remove %s', if it is not to come back", p.label(id)),
				"node %s has not answered for %s; it was emptied and holds nothing", p.label(id), round(p.silent(id)))
			continue
		}
		if heir := p.heir(n.Node); heir != "" && replicas == 0 && (p.member(id) == nil || !p.member(id).Voter) {
			d.add(info, "nothing: it is forgotten in a moment", "node %s does not answer and holds nothing; node %s has come with its name and address", id, heir)
			continue
		}
		if replicas == 0 && p.member(id) == nil {
			word := "node"
			if slices.Equal(n.Node.GetRoles(), []string{"router"}) {
				word = "router"
			}
			d.add(warning, fmt.Sprintf("start it again; if it is gone for good, 'cordwood node remove %s'", p.label(id)),
				"%s %s has not answered for %s; it holds nothing", word, p.label(id), round(p.silent(id)))
			continue
		}
		next, its := "", "its replica is"
		if replicas > 1 {
			its = fmt.Sprintf("its %d replicas are", replicas)
		}
		why := strings.TrimPrefix(homeless(id), fmt.Sprintf("node %s is down; ", p.label(id)))
		switch left := p.cfg.ReplaceAfter - p.silent(id); {
		case replicas == 0:
		case why != "":
			next = fmt.Sprintf("; %s not replaced: %s", its, why)
		case left > 0:
			next = fmt.Sprintf("; %s replaced in %s where others are left", its, round(left))
		default:
			next = fmt.Sprintf("; %s being replaced where others are left", its)
		}
		d.add(warning, fmt.Sprintf("start it again; if it is lost for good, 'cordwood node decommission %s'%s", p.label(id), p.orNetwork(id)),
			"node %s has not answered for %s%s", p.label(id), round(p.silent(id)), next)
	}
}

// orNetwork is what else may be the matter with a node that the leader of the metadata does
// not hear: others may.
func (p *picture) orNetwork(id string) string {
	if leader := p.status.GetLeader(); leader != "" && leader != id {
		return fmt.Sprintf("; if it runs, look at the network between it and node %s, which leads the metadata and does not hear it", p.label(leader))
	}
	return ""
}

// blockedRepairs says of shards why they would get no new replicas for those on nodes that
// are down, also before that is tried.
func (p *picture) blockedRepairs() map[uint32]string {
	nodes := p.placementNodes()
	for i, n := range nodes {
		if p.nodes[n.ID].Down {
			nodes[i].State = placement.Down
		}
	}
	out := map[uint32]string{}
	for _, b := range placement.Make(nodes, p.placementShards(), placement.Limits{NodeMoves: 1 << 20}).Blocked {
		out[b.Shard] = p.relabel(b.Reason)
	}
	return out
}

// damagedReplicas tells of replicas whose files are damaged, and what is done about it.
func (d *diagnosis) damagedReplicas() {
	p := d.p
	for _, s := range p.status.Shards {
		g := p.groups[s.Id]
		for _, id := range s.Replicas {
			r := p.replica(id, s)
			if r == nil || !p.alive(id) || !p.damaged(id, s) && r.State != stateFailed {
				continue
			}
			severity, lost := warning, ""
			if id == g.leader {
				severity, lost = critical, ": queries that need these rows fail, or leave them out if they allow that"
			}
			text := fmt.Sprintf("shard %d: %s%s", s.Id, p.damageWords(id, s), lost)
			why, never := p.keepDamaged(s, g, id)
			op := p.runs(func(o *metapb.Operation) bool { return o.ShardId == s.Id })
			switch {
			case op != nil:
				d.add(severity, fmt.Sprintf("nothing: operation %d (%s) is at it", op.Id, op.Kind), "%s", text)
			case len(s.Replicas) == 1:
				d.add(severity, fmt.Sprintf("there is no other replica: stop node %s, put the files back from a backup (docs/backup.md: One damaged file of a shard), and start it again; 'cordwood doctor --forget' gives the rows up", p.label(id)), "%s", text)
			case why != "" && never:
				d.add(severity, why, "%s", text)
			case why != "":
				d.add(severity, "it is made anew from the other replicas once that is possible: "+why, "%s", text)
			case !p.damaged(id, s):
				d.add(severity, fmt.Sprintf("look at the log of node %s: it is tried again; 'cordwood shard rebuild %d --node %s' makes it anew from the other replicas", p.label(id), s.Id, p.label(id)), "%s", text)
			default:
				d.add(severity, "nothing: it is made anew from the other replicas in a moment", "%s", text)
			}
		}
	}
}

// missingReplicas tells of shards that have fewer replicas than they should, by what is
// done about it.
func (d *diagnosis) missingReplicas() {
	p := d.p
	blocked := p.blockedRepairs()
	groups, order := map[string][]string{}, []string{}
	for _, s := range p.status.Shards {
		living := len(p.livingReplicas(s))
		if c := p.condition(s); living >= want(s) || c != conditionLed && c != conditionElecting {
			continue
		}
		advice := "nothing: the replicas are replaced when their nodes have been silent for " + round(p.cfg.ReplaceAfter)
		if op := p.runs(func(o *metapb.Operation) bool { return o.ShardId == s.Id }); op != nil {
			advice = fmt.Sprintf("nothing: operation %d (%s) is at it", op.Id, op.Kind)
		} else if why := blocked[s.Id]; why != "" {
			advice = why
		}
		key := fmt.Sprintf("%d of %d\x00%s", living, want(s), advice)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], strconv.FormatUint(uint64(s.Id), 10))
	}
	for _, key := range order {
		numbers, advice, _ := strings.Cut(key, "\x00")
		word := "shard"
		if len(groups[key]) > 1 {
			word = "shards"
		}
		d.add(warning, advice, "%s %s: %s replicas answer", word, few(groups[key]), numbers)
	}
}

// stuckAfter is how long an operation may be at one step without a word of warning.
const stuckAfter = 2 * time.Minute

func (d *diagnosis) operations() {
	p := d.p
	for _, op := range p.running() {
		if op.Parent != 0 || op.Step == stepCopy || p.now.Sub(time.Unix(0, op.UpdatedUnixNano)) < stuckAfter && op.Attempt < 5 {
			continue
		}
		if running, _ := p.children(op.Id); len(running) > 0 {
			continue
		}
		if op.Kind == KindRebalance && p.status.GetSettings().GetRebalancePaused() {
			continue
		}
		d.add(warning, fmt.Sprintf("do what it waits for, or 'cordwood cluster cancel %d'", op.Id), "operation %d (%s %s) waits: %s", op.Id, op.Kind, subject(p, op), op.Reason)
	}
}

// diskWarning is how full a disk may be without a word.
const diskWarning = 0.85

func (d *diagnosis) disks() {
	p := d.p
	var filling []*metapb.NodeStatus
	for _, n := range p.status.Nodes {
		r := n.GetReport()
		switch {
		case r.GetDiskFull():
			d.add(critical, "free space on it, shorten the ttl of tables, or move shards to other nodes", "the disk of node %s is full: it takes no rows", p.label(n.Node.GetId()))
		case r.GetDiskCapacity() > 0 && diskUse(r) > diskWarning:
			filling = append(filling, n)
		}
	}
	if len(filling) == 0 {
		return
	}
	// One line: nodes often share a disk, or fill up together.
	slices.SortStableFunc(filling, func(a, b *metapb.NodeStatus) int { return cmp.Compare(diskUse(b.Report), diskUse(a.Report)) })
	var texts []string
	for _, n := range filling {
		texts = append(texts, fmt.Sprintf("%s %.0f %%", p.label(n.Node.GetId()), 100*diskUse(n.Report)))
	}
	d.add(warning, "add nodes or space, or shorten the ttl of tables", "disks are filling up: %s", few(texts))
}

// diskUse is the part of a node's disk that is used.
func diskUse(r *metapb.ReportRequest) float64 { return float64(r.DiskUsed) / float64(r.DiskCapacity) }

// maxSkew is by how much the clock of a node may be off.
const maxSkew = 2 * time.Second

func (d *diagnosis) clocks() {
	var clocks []int64
	for _, n := range d.p.status.Nodes {
		if !n.Down && n.GetReport().GetTimeUnixNano() != 0 {
			clocks = append(clocks, n.Report.TimeUnixNano+n.SilentNanos)
		}
	}
	if len(clocks) < 2 {
		return
	}
	slices.Sort(clocks)
	median := clocks[len(clocks)/2]
	for _, n := range d.p.status.Nodes {
		if n.Down || n.GetReport().GetTimeUnixNano() == 0 {
			continue
		}
		if skew := time.Duration(n.Report.TimeUnixNano + n.SilentNanos - median); skew.Abs() > maxSkew {
			d.add(warning, "have its clock set by NTP: what expires, and times that the server adds, would be off", "the clock of node %s is %s off those of the others", d.p.label(n.Node.GetId()), skew.Round(100*time.Millisecond))
		}
	}
}

func (d *diagnosis) versions() {
	p := d.p
	programs := map[string][]string{}
	for _, n := range p.status.Nodes {
		v := n.GetReport().GetVersion()
		if v == "" {
			v = n.GetNode().GetVersion()
		}
		programs[v] = append(programs[v], n.Node.GetId())
	}
	if len(programs) < 2 {
		return
	}
	var words []string
	for v, ids := range programs {
		words = append(words, fmt.Sprintf("%s on %s", v, p.labels(ids)))
	}
	slices.Sort(words)
	d.add(info, "finish the upgrade; the cluster uses what is new once all nodes know it", "nodes run different programs: %s", few(words))
}

// rebalanceLater says from when on replicas are moved to nodes that hold less, if nobody asks for it
// before: nodes have to stay as they are for a while.
func (d *diagnosis) rebalanceLater() {
	p := d.p
	if p.status.GetSettings().GetRebalancePaused() || len(p.running()) > 0 {
		return
	}
	plan := placement.Make(p.placementNodes(), p.placementShards(), placement.Limits{Spread: balanceSpread})
	if len(plan.Blocked) > 0 || len(plan.Moves) == 0 || slices.ContainsFunc(plan.Moves, func(m placement.Move) bool { return m.From == "" || m.To == "" }) {
		return
	}
	since := p.now.Add(-p.rested(KindRebalance))
	for _, n := range p.status.Nodes {
		if at := time.Unix(0, n.GetNode().GetRegisteredUnixNano()); at.After(since) {
			since = at
		}
	}
	if at := since.Add(p.cfg.RebalanceRest); at.After(p.now) {
		d.add(info, "'cordwood rebalance' begins now", "replicas are moved to node %s, which holds less than others, from %s UTC on, if no node comes or goes before", p.label(plan.Moves[0].To), at.UTC().Format(time.TimeOnly))
	}
}

// notes are no faults, and yet worth a line.
func (d *diagnosis) notes() {
	p := d.p
	d.rebalanceLater()
	for _, n := range p.status.Nodes {
		if left := n.GetReport().GetLeftShards(); len(left) > 0 && !n.Down {
			var ids []string
			for _, id := range left {
				ids = append(ids, strconv.FormatUint(uint64(id), 10))
			}
			d.add(info, "they are never read or deleted by the cluster; what is not needed may be removed from the folder shards of its data folder",
				"node %s has folders of shards %s that the cluster does not use: it places them elsewhere, or made them anew", p.label(n.Node.GetId()), few(ids))
		}
	}
	if p.status.GetSettings().GetRebalancePaused() {
		d.add(info, "'cordwood cluster resume rebalance' ends that", "rebalancing is paused: replicas and tables are not moved for balance")
	}
	var alone []string
	nodes := 0
	for _, n := range p.status.Nodes {
		if holdsShards(n.Node) {
			nodes++
		}
	}
	for _, s := range p.status.Shards {
		if want(s) == 1 {
			alone = append(alone, strconv.FormatUint(uint64(s.Id), 10))
		}
	}
	if nodes >= 3 && len(alone) > 0 {
		words := "shard " + alone[0] + " has one replica"
		if len(alone) > 1 {
			words = "shards " + few(alone) + " have one replica each"
		}
		d.add(info, fmt.Sprintf("'cordwood shard replicas %s 3' keeps three", alone[0]), "%s: while its node is down, its rows can be neither written nor read", words)
	}
}
