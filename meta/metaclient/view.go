package metaclient

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// entry is a table, and the index of the log at which this definition was seen.
type entry struct {
	table *schema.Table
	index uint64
}

// state is a copy of the metadata. Tables come from two sources that may overtake each other: the watch, in log
// order, and the results of this client's proposals, which may be ahead of it. So for each table id, the highest
// version is kept, and for each name, the entry with the highest index. A dropped id never comes back.
type state struct {
	index     uint64 // the index that the watch has reached
	clusterID string
	dbs       map[string]*schemapb.Database
	byID      map[uint64]entry
	byName    map[string]map[string]entry // by database and table
	lists     map[string]*tableList       // by database, for databases that were listed
	shards    map[uint32]*metapb.Shard
	retired   map[uint32]*metapb.Shard // retired shards
	nodes     map[string]*metapb.Node
	nodeList  []*metapb.Node // by id; a list is never changed
	dropped   map[uint64]struct{}
	pipelines map[string][]*metapb.PipelineVersion // by age

	operations map[uint64]*metapb.Operation
	settings   *metapb.Settings
	version    uint32

	// principals are the users and roles, and tokens the tokens by id, until the state is shown.
	principals map[string]*metapb.AccessPrincipal
	tokens     map[string]*metapb.AccessToken
}

func newState() *state {
	return &state{
		dbs: map[string]*schemapb.Database{}, byID: map[uint64]entry{}, byName: map[string]map[string]entry{},
		lists: map[string]*tableList{}, shards: map[uint32]*metapb.Shard{}, retired: map[uint32]*metapb.Shard{},
		nodes: map[string]*metapb.Node{}, dropped: map[uint64]struct{}{},
		pipelines:  map[string][]*metapb.PipelineVersion{},
		operations: map[uint64]*metapb.Operation{}, settings: &metapb.Settings{},
		principals: map[string]*metapb.AccessPrincipal{}, tokens: map[string]*metapb.AccessToken{},
	}
}

// add applies a message of the watch.
func (s *state) add(r *metapb.WatchResponse) {
	s.index = max(s.index, r.Index)
	if r.ClusterId != "" {
		s.clusterID = r.ClusterId
	}
	for _, name := range r.DroppedDatabases {
		delete(s.dbs, name)
	}
	for _, d := range r.Databases {
		s.dbs[d.Name] = d
	}
	for _, id := range r.DroppedTables {
		s.drop(id)
	}
	for _, t := range r.Tables {
		s.put(schema.FromProto(t), r.Index)
	}
	s.addCluster(r)
	for _, p := range r.Pipelines {
		s.putPipeline(p)
	}
	for _, p := range r.DroppedPipelines {
		s.dropPipeline(p)
	}
	if s.principals == nil {
		return
	}
	for _, p := range r.Principals {
		s.principals[p.Name] = p
	}
	for _, name := range r.DroppedPrincipals {
		delete(s.principals, name)
	}
	for _, one := range r.Tokens {
		s.tokens[one.Id] = one
	}
	for _, id := range r.DroppedTokens {
		delete(s.tokens, id)
	}
}

// put stores a table as it was at the given index.
func (s *state) put(t *schema.Table, index uint64) {
	if _, gone := s.dropped[t.ID]; gone {
		return
	}
	had, known := s.byID[t.ID]
	if known && had.table.Version >= t.Version {
		return
	}
	e := entry{table: t, index: index}
	s.byID[t.ID] = e
	if known && (had.table.Name != t.Name || had.table.Database != t.Database) {
		s.freeName(had.table)
	}
	names := s.byName[t.Database]
	if names == nil {
		names = map[string]entry{}
		s.byName[t.Database] = names
	}
	if named, taken := names[t.Name]; !taken || named.table.ID == t.ID || named.index <= index {
		names[t.Name] = e
		s.touch(t)
	}
}

func (s *state) drop(id uint64) {
	s.dropped[id] = struct{}{}
	if e, ok := s.byID[id]; ok {
		delete(s.byID, id)
		s.freeName(e.table)
	}
}

// freeName frees the table's name unless another table has it now.
func (s *state) freeName(t *schema.Table) {
	names := s.byName[t.Database]
	if names[t.Name].table == nil || names[t.Name].table.ID != t.ID {
		return
	}
	delete(names, t.Name)
	s.touch(t)
	if len(names) == 0 {
		delete(s.byName, t.Database)
	}
}

// view is the visible state, and the calls that wait for it to change.
type view struct {
	mu    sync.RWMutex // guards all below; held for memory work only
	state *state
	// own are results of this client's proposals that the watch has not reached yet, in ascending
	// order of index. A state from an earlier index lacks them.
	own []ownResult
	// back allows the next state to be older than the present one.
	back bool
	// dropped is the cached result of droppedIDs; nil if it has to be built again.
	dropped []uint64
	changed chan struct{}

	filled   chan struct{} // closed when the state was complete once
	fillOnce sync.Once

	// onAccess is Config.OnAccess.
	onAccess func(AccessChanges)
}

// maxOwn is the maximum number of own results that are kept while the watch is broken. An earlier
// state gets older results from the watch a moment later.
const maxOwn = 10_000

type ownResult struct {
	index   uint64
	tables  []*schema.Table
	dropped []uint64
}

func newView(onAccess func(AccessChanges)) *view {
	return &view{onAccess: onAccess, state: newState(), changed: make(chan struct{}), filled: make(chan struct{})}
}

// change applies a change of the watch.
func (v *view) change(r *metapb.WatchResponse) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.onAccess != nil && len(r.Principals)+len(r.DroppedPrincipals)+len(r.Tokens)+len(r.DroppedTokens) > 0 {
		v.onAccess(AccessChanges{
			Principals: r.Principals, Dropped: r.DroppedPrincipals, Tokens: r.Tokens, DroppedTokens: r.DroppedTokens,
		})
	}
	v.state.add(r)
	v.forget()
	v.wake()
}

// replace shows a new complete state, together with the own results after it. If that would take
// the view back, because the state comes from a member that is behind the previous one, it does
// nothing and returns false.
func (v *view) replace(s *state) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case s.index >= v.state.index:
	case v.back:
		v.own, v.dropped = nil, nil
	default:
		return false
	}
	v.back = false
	for _, o := range v.own {
		if o.index > s.index {
			o.into(s)
		}
	}
	if v.onAccess != nil {
		v.onAccess(AccessChanges{
			Whole: true, Principals: slices.Collect(maps.Values(s.principals)), Tokens: slices.Collect(maps.Values(s.tokens)),
		})
	}
	s.principals, s.tokens = nil, nil // the receiver has them
	v.state = s
	v.forget()
	v.wake()
	v.fillOnce.Do(func() { close(v.filled) })
	return true
}

// allowBack makes the view accept the next state even if it is older.
func (v *view) allowBack() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.back = true
}

// index returns the index that the watch has reached.
func (v *view) index() uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state.index
}

// merge adds the result of a proposal.
func (v *view) merge(index uint64, r *metapb.Result) {
	if len(r.Tables) == 0 && len(r.DroppedTables) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	o := ownResult{index: index, dropped: r.DroppedTables}
	for _, t := range r.Tables {
		// Most results contain nothing new.
		if had, known := v.state.byID[t.Id]; !known || had.table.Version < t.Version {
			o.tables = append(o.tables, schema.FromProto(t))
		}
	}
	if len(o.tables) == 0 && len(o.dropped) == 0 {
		return
	}
	o.into(v.state)
	if index > v.state.index {
		at, _ := slices.BinarySearchFunc(v.own, index, func(o ownResult, i uint64) int { return cmp.Compare(o.index, i) })
		v.own = slices.Insert(v.own, at, o)
		if len(v.own) > maxOwn {
			v.own = slices.Delete(v.own, 0, 1)
		}
	}
	v.wake()
}

func (o ownResult) into(s *state) {
	for _, id := range o.dropped {
		s.drop(id)
	}
	for _, t := range o.tables {
		s.put(t, o.index)
	}
}

// forget drops the own results that the watch has reached.
func (v *view) forget() {
	n := 0
	for n < len(v.own) && v.own[n].index <= v.state.index {
		n++
	}
	v.own = slices.Delete(v.own, 0, n)
}

func (v *view) wake() {
	if len(v.dropped) != len(v.state.dropped) {
		v.dropped = nil // ids are only added
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// wait waits until the watch has reached index. It returns false if ctx ended first.
func (v *view) wait(ctx context.Context, index uint64) bool {
	for {
		v.mu.RLock()
		reached, changed := v.state.index >= index, v.changed
		v.mu.RUnlock()
		if reached {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (v *view) database(name string) (*schemapb.Database, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	d, ok := v.state.dbs[name]
	return d, ok
}

func (v *view) databases() []*schemapb.Database {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.SortedFunc(maps.Values(v.state.dbs), func(a, b *schemapb.Database) int {
		return strings.Compare(a.Name, b.Name)
	})
}

func (v *view) table(database, name string) (*schema.Table, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	e, ok := v.state.byName[database][name]
	return e.table, ok
}

func (v *view) tableByID(id uint64) (*schema.Table, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	e, ok := v.state.byID[id]
	return e.table, ok
}

// tables returns the tables of a database in the order of names. The list is never changed.
func (v *view) tables(database string) []*schema.Table {
	v.mu.RLock()
	list, ok := v.state.listed(database)
	v.mu.RUnlock()
	if ok {
		return list
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state.list(database)
}

func (v *view) shardList() []*metapb.Shard {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.SortedFunc(maps.Values(v.state.shards), func(a, b *metapb.Shard) int { return cmp.Compare(a.Id, b.Id) })
}

func (v *view) shard(id uint32) *metapb.Shard {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state.shards[id]
}

func (v *view) nodeList() []*metapb.Node {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.Clip(v.state.nodeList)
}

func (v *view) droppedIDs() []uint64 {
	v.mu.RLock()
	ids, n := v.dropped, len(v.state.dropped)
	v.mu.RUnlock()
	if len(ids) == n {
		return ids
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dropped == nil {
		v.dropped = slices.Sorted(maps.Keys(v.state.dropped))
	}
	return v.dropped
}

func (v *view) changedCh() <-chan struct{} {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.changed
}

func (v *view) clusterID() string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state.clusterID
}
