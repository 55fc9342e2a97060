package recovery

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/node"
)

// action is what a plan does with the copy of one group in the folder.
type action string

const (
	goOn     action = "recover" // the group continues with this copy alone
	setAside action = "retire"  // the metadata group was recovered in another folder: retire its member
	leave    action = "leave"   // nothing is changed
	cannot   action = "cannot"  // the copy cannot be used
)

// step is the part of a plan that is about one group.
type step struct {
	group   string
	id      uint32 // id of the shard
	isShard bool
	action  action
	why     string
	mine    *copyOf
	better  bool // another copy has more entries, so this copy is not used
}

// recoverAll recovers every group that needs it and that the folder has a member of. It recovers the metadata last,
// so that a node that is started after a partial run still waits for the others.
func recoverAll(cfg Config, data *node.Offline, p *printer) error {
	others, err := openAll(cfg.Compare, data)
	defer func() {
		for _, o := range others {
			_ = o.Close() // this only unlocks the folder
		}
	}()
	if err != nil {
		return err
	}
	plan, err := planAll(data, others)
	if err != nil {
		return err
	}
	p.line("plan for data folder %s of node %s, cluster %s:", data.Path, data.NodeID, data.ClusterID)
	for _, s := range plan {
		p.line("  %-9s %-8s %s", s.group, s.action, s.why)
	}
	work := slices.ContainsFunc(plan, func(s step) bool { return s.action == goOn || s.action == setAside })
	if !work {
		p.line("There is nothing to do here: start the node.")
		return errors.Join(p.err, failures(plan))
	}
	if !cfg.OthersGone {
		if err := checkOthersGone(cfg, plan); err != nil {
			return errors.Join(p.err, err)
		}
	}
	if slices.ContainsFunc(plan, func(s step) bool { return s.action == goOn }) {
		p.line("WARNING: these groups continue with the copies in this folder alone. Rows and changes that were " +
			"acknowledged and are only on the lost nodes are lost.")
		p.line("Start the other nodes instead if their disks still exist: with a majority of its members a group loses " +
			"nothing.")
	}
	if p.err != nil {
		return p.err
	}
	if !cfg.Accept {
		return ErrNotAccepted
	}
	return carryOut(plan, data, p)
}

// openAll opens the folders to compare with.
func openAll(dirs []string, data *node.Offline) ([]*node.Offline, error) {
	var out []*node.Offline
	for _, dir := range dirs {
		other, err := node.OpenOffline(dir)
		if err != nil {
			return out, err
		}
		out = append(out, other)
		if other.ClusterID != data.ClusterID {
			return out, fmt.Errorf("data folder %s belongs to cluster %s, not to cluster %s", dir, other.ClusterID,
				data.ClusterID)
		}
	}
	return out, nil
}

// planAll decides what to do with each group.
func planAll(data *node.Offline, others []*node.Offline) ([]step, error) {
	var plan []step
	for _, id := range slices.Sorted(slices.Values(data.Shards)) {
		plan = append(plan, planStep(step{group: fmt.Sprintf("shard/%d", id), id: id, isShard: true}, data, others))
	}
	if data.Meta {
		s := planStep(step{group: groupMeta}, data, others)
		if s.better {
			return nil, fmt.Errorf("the metadata: %s. Run this command on that folder first, then here with "+
				"--compare and that folder; nothing was changed", s.why)
		}
		plan = append(plan, s)
	}
	return plan, nil
}

// planStep decides what to do with one group.
func planStep(s step, data *node.Offline, others []*node.Offline) step {
	var err error
	s.mine, err = look(data, s.id, s.isShard)
	alone := err == nil && slices.Equal(s.mine.Voters, []string{data.NodeID}) && !s.mine.unfinished
	switch {
	case err != nil:
		s.action, s.why = cannot, "its copy cannot be read: "+err.Error()
		return s
	case alone:
		s.action, s.why = leave, "this node is its only voter: it needs no other node"
		return s
	case !slices.Contains(s.mine.Voters, data.NodeID):
		s.action, s.why = leave, "this node has no vote in it, and may lack entries: recover it by itself (--group "+
			s.group+") if no other copy is left"
		return s
	}
	for _, o := range others {
		c, err := look(o, s.id, s.isShard)
		switch {
		case err != nil:
			continue // the folder has no copy, or a damaged one
		case !s.isShard && slices.Equal(c.Voters, []string{o.NodeID}):
			s.action, s.why = setAside, "it was recovered in "+o.Path+": this member is retired"
			return s
		case s.isShard && c.incarnation > s.mine.incarnation:
			s.action, s.why = leave, "it was recovered in "+o.Path+": the node renames this replica's folder when it starts"
			return s
		case c.newer(s.mine):
			s.action, s.better = leave, true
			s.why = fmt.Sprintf("another copy, in %s, has more entries: up to entry %d of term %d, this one up to %d of term %d",
				o.Path, c.LastIndex, c.LastTerm, s.mine.LastIndex, s.mine.LastTerm)
			return s
		}
	}
	s.action = goOn
	s.why = fmt.Sprintf("up to entry %d of term %d; without %s", s.mine.LastIndex, s.mine.LastTerm,
		s.mine.nodes(s.others()))
	return s
}

// others returns the voters of the group on other nodes.
func (s *step) others() []string {
	return slices.DeleteFunc(slices.Clone(s.mine.Voters), func(id string) bool { return id == s.mine.node })
}

// answersTCP reports whether a process accepts connections at an address.
func answersTCP(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, 2*time.Second)
	if err == nil {
		_ = c.Close() // nothing was sent
	}
	return err == nil
}

// checkOthersGone returns an error if another voter of one of the groups of the plan answers. With that voter the group
// may have a majority, or the voter may have the better copy.
func checkOthersGone(cfg Config, plan []step) error {
	answers := cfg.Answers
	if answers == nil {
		answers = answersTCP
	}
	addrs := map[string]string{} // of the other voters, by id
	for _, s := range plan {
		if s.action != goOn {
			continue
		}
		for _, id := range s.others() {
			if addr := s.mine.addrs[id]; addr != "" {
				addrs[id] = addr
			}
		}
	}
	var mu sync.Mutex
	var there []string
	var wg sync.WaitGroup
	for id, addr := range addrs {
		wg.Go(func() {
			if answers(addr) {
				mu.Lock()
				defer mu.Unlock()
				there = append(there, id)
			}
		})
	}
	wg.Wait()
	if len(there) == 0 {
		return nil
	}
	slices.Sort(there)
	var names []string
	for _, id := range there {
		names = append(names, fmt.Sprintf("node %s at %s", id, addrs[id]))
	}
	who := strings.Join(names, " and ")
	for _, s := range plan {
		if s.action != goOn {
			continue
		}
		n := 1 // this node
		for _, id := range s.others() {
			if slices.Contains(there, id) {
				n++
			}
		}
		if n > len(s.mine.Voters)/2 {
			return fmt.Errorf("nothing was changed: a process answers at the address of %s. With this node that is %d of "+
				"the %d "+
				"voters of %s, a majority: start this node, and nothing is lost. If new nodes with empty folders run "+
				"there, give --others-are-gone", who, n, len(s.mine.Voters), s.group)
		}
	}
	return fmt.Errorf("nothing was changed: a process answers at the address of %s, which may have the newer copy. "+
		"Stop it, and "+
		"give its folder with --compare. If a new node with an empty folder runs there, give --others-are-gone", who)
}

// carryOut executes the plan in its order. If a step fails, the earlier steps stay done, and the command can be
// repeated.
func carryOut(plan []step, data *node.Offline, p *printer) error {
	for _, s := range plan {
		var err error
		switch {
		case s.action == goOn && s.isShard:
			err = recoverShard(data, s.id, p)
		case s.action == goOn:
			err = recoverMeta(data, p)
		case s.action == setAside:
			err = retireMember(data, p)
		}
		if err != nil {
			return fmt.Errorf("%s: %w; run the same command again when that is repaired", s.group, err)
		}
	}
	p.line("Next:")
	p.line("  1. On each other node whose folder still exists, before it is started: cordwood recover --group all " +
		"--data-dir FOLDER --compare COPY-OF-THIS-FOLDER --accept-data-loss")
	p.line("  2. Start this node, and the nodes of step 1. 'cordwood cluster status' shows what is missing.")
	p.line("  3. Start new nodes with empty folders in the places of the lost ones, with the same --node-name and " +
		"address: the cluster creates the missing replicas on them and removes the lost nodes. Remove nodes that do not " +
		"return " +
		"with 'cordwood node remove NODE'.")
	return errors.Join(p.err, failures(plan))
}

// failures returns an error if a copy could not be recovered.
func failures(plan []step) error {
	var groups []string
	for _, s := range plan {
		if s.action == cannot {
			groups = append(groups, s.group)
		}
	}
	if groups == nil {
		return nil
	}
	return fmt.Errorf("not recovered, because the copy in this folder cannot be read: %s", strings.Join(groups, ", "))
}
