package meta

import (
	"slices"

	"cordwood/meta/catalog"
	"cordwood/meta/placement"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// This file applies commands about shards and placement.

// applyCreateShard creates a shard whose group is founded by the given nodes.
func applyCreateShard(tx *catalog.Tx, cmd *metapb.CreateShard, c *change) (*metapb.Result, error) {
	for _, id := range cmd.Replicas {
		if err := checkTakes(tx, id); err != nil {
			return nil, err
		}
	}
	id := tx.Shards.NextID()
	if cmd.ShardId != 0 && cmd.ShardId != id {
		return nil, errs.New(errs.RequestOutdated,
			"Shard %d cannot be created: the next id is %d; another shard was created meanwhile", cmd.ShardId, id)
	}
	if tx.Shards.Count() >= catalog.MaxShards {
		return nil, errs.New(errs.InvalidArguments,
			"A shard cannot be created: there are %d, the maximum", catalog.MaxShards)
	}
	s := &metapb.Shard{
		Id: id, Incarnation: tx.Shards.FirstIncarnation(), Replicas: cmd.Replicas, Founders: cmd.Replicas,
		Want: cmd.Want, Version: 1,
	}
	if s.Incarnation > 1 {
		s.AnewIncarnation = s.Incarnation // a folder with this id belongs to a forgotten shard
	}
	if err := tx.Shards.Put(s); err != nil {
		return nil, err
	}
	settings, err := tx.Settings()
	if err != nil {
		return nil, err
	}
	if settings.InitialShards > 0 {
		settings.InitialShards--
		if err := tx.SetSettings(settings); err != nil {
			return nil, err
		}
		c.Settings = settings
	}
	c.Shards = []*metapb.Shard{s}
	return &metapb.Result{Shard: s}, nil
}

// applyFoundShards records that a founder has created its replicas. It does not count as a change
// of the shard, so other changes need not read the shard again.
func applyFoundShards(tx *catalog.Tx, cmd *metapb.FoundShards, c *change) (*metapb.Result, error) {
	for _, f := range cmd.Shards {
		s, err := tx.Shards.Get(f.Id)
		if err != nil {
			return nil, err
		}
		if s == nil || s.Incarnation != f.Incarnation || !founds(s, cmd.NodeId) || slices.Contains(s.Founded, cmd.NodeId) {
			continue
		}
		s.Founded = append(s.Founded, cmd.NodeId)
		if err := tx.Shards.Put(s); err != nil {
			return nil, err
		}
		c.Shards = append(c.Shards, s)
	}
	return &metapb.Result{}, nil
}

// founds reports whether a node is a founder of a shard; see metapb.Shard.
func founds(s *metapb.Shard, node string) bool {
	if len(s.Founders) == 0 {
		return len(s.Replicas) > 0 && s.Replicas[0] == node
	}
	return slices.Contains(s.Founders, node)
}

// checkTakes refuses a node that gets no replicas.
func checkTakes(tx *catalog.Tx, id string) error {
	n, err := needNode(tx, id)
	if err != nil {
		return err
	}
	if leaves(n) {
		return errs.New(errs.InvalidArguments, "Node %s cannot get a replica: it is being drained or was drained; undo "+
			"that first", id)
	}
	return nil
}

// leaves reports whether the node is being drained or was drained.
func leaves(n *metapb.Node) bool {
	return n.State == metapb.NodeState_NODE_STATE_DRAINING || n.State == metapb.NodeState_NODE_STATE_DRAINED
}

// applyChangeShard changes a shard that has not changed since the proposer read it.
func applyChangeShard(tx *catalog.Tx, cmd *metapb.ChangeShard, c *change) (*metapb.Result, error) {
	s, err := tx.Shards.Get(cmd.ShardId)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return changeRetired(tx, cmd, c)
	case s.Version != cmd.Version:
		return nil, errs.New(errs.RequestOutdated,
			"Shard %d has version %d and not %d: it was changed meanwhile; read it again", s.Id, s.Version, cmd.Version)
	}
	switch change := cmd.Change.(type) {
	case *metapb.ChangeShard_AddLearner:
		err = addLearner(tx, s, change.AddLearner)
	case *metapb.ChangeShard_Promote:
		err = promote(s, change.Promote)
	case *metapb.ChangeShard_Remove:
		err = removeReplica(s, change.Remove)
	case *metapb.ChangeShard_Forget:
		var ok bool
		if s.Removed, ok = without(s.Removed, change.Forget); !ok {
			err = errs.New(errs.InvalidArguments, "Shard %d: node %s has no removed replica", s.Id, change.Forget)
		}
	case *metapb.ChangeShard_Recovered:
		err = recovered(s, change.Recovered)
	case *metapb.ChangeShard_MadeAnew:
		err = recreate(tx, s, change.MadeAnew.NodeIds)
	case *metapb.ChangeShard_Want:
		s.Want = change.Want
	case *metapb.ChangeShard_Retiring:
		err = setRetiring(tx, s, change.Retiring)
	default:
		err = errs.New(errs.InvalidArguments, "Change shard %d: no change is given", s.Id)
	}
	if err != nil {
		return nil, err
	}
	s.Version++
	c.Shards = []*metapb.Shard{s}
	return &metapb.Result{Shard: s}, tx.Shards.Put(s)
}

func addLearner(tx *catalog.Tx, s *metapb.Shard, node string) error {
	switch {
	case slices.Contains(s.Replicas, node), slices.Contains(s.Learners, node):
		return errs.New(errs.InvalidArguments, "Shard %d has a replica on node %s already", s.Id, node)
	case slices.Contains(s.Removed, node):
		return errs.New(errs.InvalidArguments,
			"Shard %d: node %s has not deleted its former replica; wait until it has", s.Id, node)
	case len(s.Replicas)+len(s.Learners) >= maxReplicas:
		return errs.New(errs.InvalidArguments, "Shard %d has %d replicas, the maximum", s.Id, maxReplicas)
	}
	if err := checkTakes(tx, node); err != nil {
		return err
	}
	s.Learners = append(s.Learners, node)
	return nil
}

func promote(s *metapb.Shard, node string) error {
	var ok bool
	if s.Learners, ok = without(s.Learners, node); !ok {
		return errs.New(errs.InvalidArguments, "Shard %d: node %s is not a learner", s.Id, node)
	}
	s.Replicas = append(s.Replicas, node)
	return nil
}

// recovered starts a new incarnation of a shard with the one replica that an operator recovered.
// The files of the other replicas stay.
func recovered(s *metapb.Shard, r *metapb.Recovered) error {
	switch {
	case !slices.Contains(s.Replicas, r.NodeId) && !slices.Contains(s.Learners, r.NodeId):
		return errs.New(errs.InvalidArguments, "Shard %d has no replica on node %s that could have been recovered",
			s.Id, r.NodeId)
	case r.Incarnation <= s.Incarnation:
		return errs.New(errs.IllegalState,
			"Shard %d has incarnation %d: a replica of incarnation %d is too old: the shard was recovered elsewhere", s.Id,
			s.Incarnation, r.Incarnation)
	}
	s.Want = max(s.Want, uint32(len(s.Replicas)))
	s.Incarnation, s.Replicas, s.Learners, s.Founders, s.Founded = r.Incarnation, []string{r.NodeId}, nil,
		[]string{r.NodeId}, nil
	return nil
}

// recreateStep is added to a shard's incarnation when the shard is created again. 'cordwood recover' on
// an old folder adds one, and the result must not be an incarnation that the cluster accepts. It is
// part of the state machine.
const recreateStep = 1000

// recreate starts a new incarnation of a shard without rows. Nodes that had replicas before keep
// their files.
func recreate(tx *catalog.Tx, s *metapb.Shard, nodes []string) error {
	for _, id := range nodes {
		if slices.Contains(s.Removed, id) {
			return errs.New(errs.InvalidArguments,
				"Shard %d: node %s has not deleted its former replica; wait until it has", s.Id, id)
		}
		if err := checkTakes(tx, id); err != nil {
			return err
		}
	}
	s.Want = max(s.Want, uint32(len(s.Replicas)))
	s.Incarnation += recreateStep
	s.AnewIncarnation, s.Replicas, s.Learners, s.Founders, s.Founded = s.Incarnation, nodes, nil, nodes, nil
	return nil
}

// removeReplica removes a node from the shard. The node will delete its files.
func removeReplica(s *metapb.Shard, node string) error {
	rest, voter := without(s.Replicas, node)
	learners, learner := without(s.Learners, node)
	switch {
	case !voter && !learner:
		return errs.New(errs.InvalidArguments, "Shard %d has no replica on node %s", s.Id, node)
	case len(rest) == 0:
		return errs.New(errs.InvalidArguments,
			"Shard %d: the replica on node %s is the only voter; its rows would be lost", s.Id, node)
	}
	s.Replicas, s.Learners = rest, learners
	s.Removed = append(s.Removed, node)
	return nil
}

// without returns the list without the element, and whether the element was in it.
func without(list []string, s string) ([]string, bool) {
	i := slices.Index(list, s)
	if i < 0 {
		return list, false
	}
	return slices.Delete(slices.Clone(list), i, i+1), true
}

// applyPlaceTable assigns a table's writes to other shards from the next epoch on. If that was done
// already, nothing changes.
func applyPlaceTable(tx *catalog.Tx, cmd *metapb.PlaceTable, now int64, c *change) (*metapb.Result, error) {
	if cmd.Step != metapb.PlaceTable_STEP_UNSPECIFIED {
		return applyHandoff(tx, cmd, now, c)
	}
	t, err := tx.Tables.ByID(cmd.TableId)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, errs.New(errs.TableNotFound, "Table %d not found; it may have been dropped", cmd.TableId)
	}
	name := schema.TableLabel(t.Database, t.Name)
	epoch := uint32(0)
	if n := len(t.Placement); n > 0 {
		epoch = t.Placement[n-1].Epoch
	}
	same := slices.Equal(catalog.Writable(t), cmd.ShardIds)
	if same && (epoch == cmd.Epoch || epoch == cmd.Epoch+1) {
		return &metapb.Result{Tables: []*schemapb.Table{t}}, nil
	}
	switch {
	case epoch != cmd.Epoch:
		return nil, errs.New(errs.RequestOutdated,
			"Table `%s` is in epoch %d and not %d: it was placed again meanwhile; read the table again", name, epoch, cmd.Epoch)
	case epoch > 0 && t.Options[schema.OptionAppendMode] != "true":
		return nil, errs.New(errs.InvalidArguments, "Table `%s` merges rows of the same identity (append_mode is not "+
			"true): it moves to other shards only by a handoff, together with its rows", name)
	case t.Handoff != nil && tx.ClusterVersion() >= metapb.ProtocolHandoffAppend:
		return nil, errs.New(errs.IllegalState,
			"Table `%s` is being handed over to other shards: wait until the operation has ended, or cancel it", name)
	case len(t.Placement) >= catalog.MaxEpochs:
		return nil, errs.New(errs.InvalidArguments, "Table `%s` was placed %d times, the maximum: "+
			"truncate it, or copy its rows into a new table, to move it again", name, len(t.Placement))
	}
	if err := needShards(tx, name, cmd.ShardIds); err != nil {
		return nil, err
	}
	old := &schemapb.Table{Placement: slices.Clone(t.Placement)}
	t.Placement = append(t.Placement, &schemapb.Placement{
		Epoch: epoch + 1, ShardId: cmd.ShardIds[0], MoreShards: cmd.ShardIds[1:], SinceUnixNano: now,
	})
	t.Version++
	c.Tables = []*schemapb.Table{t}
	return &metapb.Result{Tables: c.Tables}, tx.Tables.Place(t, old)
}

// loads returns the shards that a new table may get, and the number of tables of each. Retiring
// shards are excluded. From version 2 on, shards that are about to move because one of their nodes
// is being drained are excluded too, unless there are no others.
func loads(tx *catalog.Tx) ([]placement.Load, error) {
	all := tx.Shards.Loads()
	if tx.ClusterVersion() < metapb.ProtocolCluster {
		return all, nil
	}
	nodes, err := tx.Nodes.All()
	if err != nil {
		return nil, err
	}
	leaving := map[string]bool{}
	for _, n := range nodes {
		if leaves(n) {
			leaving[n.Id] = true
		}
	}
	if len(leaving) == 0 && tx.Shards.Retiring() == 0 {
		return all, nil
	}
	shards, err := tx.Shards.All()
	if err != nil {
		return nil, err
	}
	avoid, retiring := map[uint32]bool{}, map[uint32]bool{}
	for _, s := range shards {
		avoid[s.Id] = slices.ContainsFunc(s.Replicas, func(id string) bool { return leaving[id] })
		retiring[s.Id] = s.Retiring
	}
	open := slices.DeleteFunc(all, func(l placement.Load) bool { return retiring[l.ShardID] })
	staying := slices.DeleteFunc(slices.Clone(open), func(l placement.Load) bool { return avoid[l.ShardID] })
	if len(staying) == 0 {
		return open, nil
	}
	return staying, nil
}
