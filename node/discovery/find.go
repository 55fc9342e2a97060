package discovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/proto/metapb"
)

// Find returns when the node belongs to a cluster, which it may have founded. It waits as long as necessary, and
// reports what it waits for. It returns an error only for faults that remain however long it waits: contradictory
// settings, or a disk error. It asks the seeds again after a growing pause. It asks them at once if a node calls that
// is new to it or that belongs to a cluster.
func (d *Discovery) Find(ctx context.Context) error {
	const quick = 50 * time.Millisecond
	for pause := quick; ; pause = min(2*pause, d.cfg.Pause) {
		done, err := d.round(ctx)
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quick):
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.news: // a node called, or a cluster was founded
			pause = quick
		case <-time.After(pause - quick):
		}
	}
}

// restartPatience is the time for which a node of a cluster waits for seeds that could report that it is in the wrong
// cluster. They may be starting at the same time.
const restartPatience = 250 * time.Millisecond

// round asks the seeds once and acts on their answers.
func (d *Discovery) round(ctx context.Context) (done bool, err error) {
	cluster, _ := d.cfg.State.Cluster()
	before, _ := d.cfg.State.Promise()
	if cluster != "" && d.cfg.ClusterID != "" && cluster != d.cfg.ClusterID {
		return false,
			fmt.Errorf("the data folder belongs to cluster %s, but --cluster-id is %s: correct one of --cluster-id "+
				"and --data-dir", cluster, d.cfg.ClusterID)
	}
	if len(d.cfg.Seeds) == 0 {
		return d.alone(cluster)
	}
	patience := d.cfg.Pause
	if cluster != "" {
		patience = restartPatience
	}
	v := d.look(ctx, patience)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	clusters, err := d.clusters(v)
	if err != nil {
		return false, err
	}
	if cluster != "" {
		if addr := clusters[cluster]; len(clusters) > 0 && addr == "" {
			return false, fmt.Errorf("the data folder belongs to cluster %s, but %s: correct --seeds, or choose an "+
				"empty --data-dir to join that one", cluster, d.foreignNodes(v, cluster))
		}
		d.note(v, cluster)
		return true, nil
	}
	switch len(clusters) {
	case 0:
		return d.begin(ctx, v, before)
	case 1:
		return d.join(v, clusters, before)
	}
	d.wait(fmt.Sprintf("all seeds to belong to one cluster: %s; correct --seeds", d.foreignNodes(v, "")))
	return false, nil
}

// clusters returns the clusters of the nodes that answered, with an address of each.
func (d *Discovery) clusters(v view) (map[string]string, error) {
	clusters := map[string]string{}
	for _, p := range v.peers {
		if p.NodeId == d.cfg.NodeID {
			return nil, fmt.Errorf("the node at %s has the same id as this one, %s: one of the data folders is a "+
				"copy of the other; a new node needs an empty --data-dir", p.addr, p.NodeId)
		}
		if p.ClusterId != "" {
			clusters[p.ClusterId] = p.addr
		}
	}
	return clusters, nil
}

// alone makes a node without seeds a cluster of its own.
func (d *Discovery) alone(cluster string) (bool, error) {
	if cluster != "" {
		return true, nil
	}
	if d.cfg.ClusterID != "" {
		return false,
			fmt.Errorf("the data folder is empty, and --cluster-id %s is an existing cluster: give nodes of it as "+
				"--seeds", d.cfg.ClusterID)
	}
	d.deciding.Lock()
	defer d.deciding.Unlock()
	return true, d.cfg.State.SetCluster(d.cfg.NewID(), []string{d.cfg.NodeID})
}

// join makes the node a member of the only cluster that the seeds report.
func (d *Discovery) join(v view, clusters map[string]string, before string) (bool, error) {
	var founders []string
	id, addr := "", ""
	for id, addr = range clusters {
	}
	if d.cfg.ClusterID != "" && id != d.cfg.ClusterID {
		return false,
			fmt.Errorf("the node at %s belongs to cluster %s, but --cluster-id is %s: correct one of --seeds and "+
				"--cluster-id", addr, id, d.cfg.ClusterID)
	}
	for _, p := range v.peers {
		if p.ClusterId != id {
			continue
		}
		if p.MinProtocol > d.cfg.Highest || p.MaxProtocol < d.cfg.Lowest {
			return false,
				fmt.Errorf("the node at %s supports protocol versions %d to %d, this one %d to %d: upgrade the older one",
					p.addr, p.MinProtocol, p.MaxProtocol, d.cfg.Lowest, d.cfg.Highest)
		}
		if slices.Contains(p.Founders, d.cfg.NodeID) {
			founders = p.Founders
		}
	}
	d.deciding.Lock()
	defer d.deciding.Unlock()
	if promise, promised := d.cfg.State.Promise(); promise != "" && promise != id {
		if promise != before || !d.void(v, promise, promised) {
			d.wait(fmt.Sprintf("node %s to report whether cluster %s was founded, which this node promised to join",
				v.name(coordinator(promised)), promise))
			return false, nil
		}
	}
	d.note(v, id)
	if err := d.cfg.State.SetCluster(id, founders); err != nil {
		return false, err
	}
	d.cfg.Logger.Info("joins a cluster", "cluster", id, "found_at", addr, "founder", len(founders) > 0)
	return true, nil
}

// void reports whether a promise is no longer binding: the deciding node reports that the cluster was not founded, or
// this node is the deciding node. The promise must have been recorded before the round of v.
func (d *Discovery) void(v view, promise string, promised []string) bool {
	decider := coordinator(promised)
	if decider == d.cfg.NodeID {
		return true
	}
	p, ok := v.by(decider)
	return ok && p.PromisedClusterId != promise && p.ClusterId != promise
}

// begin handles the case that neither the node nor any of its seeds has a cluster.
func (d *Discovery) begin(ctx context.Context, v view, before string) (bool, error) {
	d.deciding.Lock()
	promise, promised := d.cfg.State.Promise()
	switch {
	case promise != before: // it was given during this round: the next round has newer answers
		d.deciding.Unlock()
		return false, nil
	case promise != "" && d.void(v, promise, promised):
		// This also deletes a promise that this node made as coordinator before a restart.
		err := d.cfg.State.SetPromise("", nil)
		d.deciding.Unlock()
		return false, err
	case promise != "":
		d.deciding.Unlock()
		text := fmt.Sprintf("node %s to found cluster %s", v.name(coordinator(promised)), promise)
		if _, ok := v.by(coordinator(promised)); !ok {
			text += fmt.Sprintf("; it does not answer: start it with its data folder, or, if the folder is lost, empty the "+
				"data folders of nodes %s, which have no data yet", d.called(v, promised))
		}
		d.wait(text)
		return false, nil
	}
	d.deciding.Unlock()

	text, founders := d.ready(v)
	if text != "" {
		d.wait(text)
		return false, nil
	}
	if d.cfg.ClusterID != "" {
		return false, fmt.Errorf("all %d nodes for the first metadata group are up and empty, but --cluster-id "+
			"states that cluster %s exists: its metadata is lost; restore the data folders, or restore a backup "+
			"into a new cluster, started without --cluster-id", d.cfg.Expect, d.cfg.ClusterID)
	}
	if coordinator(founders) != d.cfg.NodeID {
		d.wait(fmt.Sprintf("node %s to found the cluster", v.name(coordinator(founders))))
		return false, nil
	}
	return d.found(ctx, v, founders)
}

// ready returns the founders of a cluster, or what is missing before it can be founded.
func (d *Discovery) ready(v view) (missing string, founders []string) {
	if slices.Contains(d.cfg.Roles, RoleMeta) {
		founders = append(founders, d.cfg.NodeID)
	}
	for _, p := range v.peers {
		switch {
		case !slices.Contains(p.Roles, RoleMeta):
		case p.PromisedClusterId != "":
			return fmt.Sprintf("cluster %s, which nodes %s are about to found", p.PromisedClusterId,
				d.called(v, p.Founders)), nil
		case int(p.Expect) != d.cfg.Expect:
			return fmt.Sprintf("the same --meta-bootstrap-expect on all nodes: it is %d on %s and %d here", p.Expect,
				p.addr, d.cfg.Expect), nil
		default:
			founders = append(founders, p.NodeId)
		}
	}
	switch {
	case len(v.silent) > 0:
		return fmt.Sprintf("all seeds to answer, or one that belongs to a cluster; no answer from %s",
			strings.Join(v.silent, ", ")), nil
	case len(founders) < d.cfg.Expect:
		return fmt.Sprintf("a cluster: none of the seeds belongs to one, and of %d nodes for the first metadata "+
			"group (--meta-bootstrap-expect) %d are up", d.cfg.Expect, len(founders)), nil
	}
	slices.Sort(founders)
	return "", founders[:d.cfg.Expect]
}

// foundTimeout is the time that a founder may take to promise.
const foundTimeout = 3 * time.Second

// found founds a cluster with the founders; this node is one of them.
func (d *Discovery) found(ctx context.Context, v view, founders []string) (bool, error) {
	id := d.cfg.NewID()
	d.deciding.Lock()
	if promise, _ := d.cfg.State.Promise(); promise != "" {
		d.deciding.Unlock() // another node was faster
		return false, nil
	}
	err := d.cfg.State.SetPromise(id, founders)
	d.deciding.Unlock()
	if err != nil {
		return false, err
	}
	d.wait(fmt.Sprintf("nodes %s to agree to found cluster %s", d.called(v, founders), id))
	refusal := d.ask(ctx, v, id, founders)
	d.deciding.Lock()
	defer d.deciding.Unlock()
	if refusal != nil {
		d.cfg.Logger.Info("not all founders agree; trying again", "cluster", id, "error", refusal)
		return false, d.cfg.State.SetPromise("", nil)
	}
	d.note(v, "")
	if err := d.cfg.State.SetCluster(id, founders); err != nil {
		return false, err
	}
	d.cfg.Logger.Info("founded a cluster", "cluster", id, "founders", founders)
	return true, nil
}

// ask asks all other founders to promise. It returns the first refusal.
func (d *Discovery) ask(ctx context.Context, v view, id string, founders []string) error {
	ctx, cancel := context.WithTimeout(ctx, foundTimeout)
	defer cancel()
	refusals := make([]error, len(founders))
	var wg sync.WaitGroup
	for i, node := range founders {
		if node == d.cfg.NodeID {
			continue
		}
		p, _ := v.by(node)
		wg.Go(func() {
			client, err := d.client(p.addr)
			if err == nil {
				_, err = client.Found(ctx, &metapb.FoundRequest{ClusterId: id, Founders: founders, NodeId: d.cfg.NodeID})
			}
			if err != nil {
				refusals[i] = fmt.Errorf("node %s: %w", v.name(node), short(err))
			}
		})
	}
	wg.Wait()
	for _, r := range refusals {
		if r != nil {
			return r
		}
	}
	return nil
}
