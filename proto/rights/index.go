package rights

import (
	"slices"
	"strings"
)

// Grant gives privileges on a target.
type Grant struct {
	Target
	Privileges Set
	// Grantable are those of the privileges that the holder may grant to others.
	Grantable Set
}

// Index answers what a user or role may do. It is immutable. Look-ups take no lock and allocate nothing.
type Index struct {
	grants []Grant
	admin  bool
	// cluster, tables and pipelines are the privileges that the holder has on the cluster, and on any table or
	// pipeline.
	cluster, anyTable, anyPipeline Set
	databases                      patterns[database]
	pipelines                      patterns[Set]
}

// database has the privileges of the databases of one pattern.
type database struct {
	any    Set // on any table
	tables patterns[Set]
}

// patterns finds the values of all patterns that cover a name.
type patterns[V any] struct {
	exact    map[string]*V
	prefixes map[string]*V
	lengths  []int // of the prefixes, ascending
}

// at returns the value of a pattern, and adds it if it is missing.
func (p *patterns[V]) at(pattern string) *V {
	m, name := &p.exact, pattern
	if prefix, wild := strings.CutSuffix(pattern, "*"); wild {
		m, name = &p.prefixes, prefix
		if !slices.Contains(p.lengths, len(prefix)) {
			p.lengths = append(p.lengths, len(prefix))
			slices.Sort(p.lengths)
		}
	}
	if *m == nil {
		*m = map[string]*V{}
	}
	v := (*m)[name]
	if v == nil {
		v = new(V)
		(*m)[name] = v
	}
	return v
}

// everything returns the value of the pattern *, or nil.
func (p *patterns[V]) everything() *V { return p.prefixes[""] }

// NewIndex returns the index of grants and of the built-in roles in roles.
func NewIndex(grants []Grant, roles []string) *Index {
	x := &Index{admin: slices.Contains(roles, AdminRole), grants: slices.Clone(grants)}
	for _, r := range roles {
		x.grants = append(x.grants, builtIn(r)...)
	}
	for _, g := range x.grants {
		switch g.Kind {
		case Cluster:
			x.cluster |= g.Privileges
		case Pipelines:
			x.anyPipeline |= g.Privileges
			*x.pipelines.at(g.Name) |= g.Privileges
		case Tables:
			x.anyTable |= g.Privileges
			d := x.databases.at(g.Database)
			d.any |= g.Privileges
			*d.tables.at(g.Name) |= g.Privileges
		}
	}
	if x.cluster&Operate != 0 {
		x.cluster |= Monitor
	}
	return x
}

// Admin reports whether the holder may do everything.
func (x *Index) Admin() bool { return x.admin }

// OnCluster returns the privileges on the cluster.
func (x *Index) OnCluster() Set {
	if x.admin {
		return OfCluster
	}
	return x.cluster
}

// OnAnyTable returns the privileges that the holder has on at least one table.
func (x *Index) OnAnyTable() Set {
	if x.admin {
		return OfTables
	}
	return x.anyTable
}

// OnAnyPipeline returns the privileges that the holder has on at least one pipeline.
func (x *Index) OnAnyPipeline() Set {
	if x.admin {
		return OfPipelines
	}
	return x.anyPipeline
}

// set returns the union of the sets of all patterns that cover a name.
func set(p *patterns[Set], name string) Set {
	var s Set
	if v := p.exact[name]; v != nil {
		s = *v
	}
	for _, n := range p.lengths {
		if n > len(name) {
			break
		}
		if v := p.prefixes[name[:n]]; v != nil {
			s |= *v
		}
	}
	return s
}

// OnPipeline returns the privileges on a pipeline.
func (x *Index) OnPipeline(name string) Set {
	if x.admin {
		return OfPipelines
	}
	return set(&x.pipelines, name)
}

// OnTable returns the privileges on a table.
func (x *Index) OnTable(db, table string) Set {
	if x.admin {
		return OfTables
	}
	var s Set
	if d := x.databases.exact[db]; d != nil {
		s = set(&d.tables, table)
	}
	if db == PrivateDatabase {
		// Patterns do not cover this database. What concerns all tables, such as the table of rejects, can be read by
		// those who may read all tables.
		return s | x.OnAllTables()&Select
	}
	p := &x.databases
	for _, n := range p.lengths {
		if n > len(db) {
			break
		}
		if d := p.prefixes[db[:n]]; d != nil {
			s |= set(&d.tables, table)
		}
	}
	return s
}

// InDatabase returns the privileges that the holder has on at least one table of a database, whether it exists or not.
func (x *Index) InDatabase(db string) Set {
	if x.admin {
		return OfTables
	}
	return x.ofDatabase(db, func(d *database) Set { return d.any })
}

// OnDatabase returns the privileges on all tables of a database.
func (x *Index) OnDatabase(db string) Set {
	if x.admin {
		return OfTables
	}
	return x.ofDatabase(db, func(d *database) Set {
		if v := d.tables.everything(); v != nil {
			return *v
		}
		return 0
	})
}

func (x *Index) ofDatabase(db string, of func(d *database) Set) Set {
	var s Set
	p := &x.databases
	if d := p.exact[db]; d != nil {
		s = of(d)
	}
	if db == PrivateDatabase {
		return s
	}
	for _, n := range p.lengths {
		if n > len(db) {
			break
		}
		if d := p.prefixes[db[:n]]; d != nil {
			s |= of(d)
		}
	}
	return s
}

// OnAllTables returns the privileges on all tables of all databases.
func (x *Index) OnAllTables() Set {
	if x.admin {
		return OfTables
	}
	if d := x.databases.everything(); d != nil {
		if v := d.tables.everything(); v != nil {
			return *v
		}
	}
	return 0
}

// MayGrant reports whether the holder may grant all of the privileges on the target. With ACCESS, the holder may
// grant everything except what ReservedToAdmin returns.
func (x *Index) MayGrant(privileges Set, t Target) bool {
	if x.admin {
		return true
	}
	missing := privileges
	if x.cluster&Access != 0 {
		missing &= ReservedToAdmin()
	}
	return x.granted(missing, t)
}

// MayDelegate reports whether the holder may grant all of the privileges on the target without the privilege ACCESS.
func (x *Index) MayDelegate(privileges Set, t Target) bool {
	return x.admin || x.granted(privileges, t)
}

// granted reports whether the holder has all of the privileges on the target with the grant option.
func (x *Index) granted(missing Set, t Target) bool {
	for _, g := range x.grants {
		if missing&g.Grantable != 0 && g.Covers(t) {
			missing &^= g.Grantable
		}
	}
	return missing == 0
}

// Holds reports whether the holder has all of the privileges on the target by grants that cover it.
func (x *Index) Holds(privileges Set, t Target) bool {
	if x.admin {
		return true
	}
	for _, g := range x.grants {
		if g.Covers(t) {
			privileges &^= g.Privileges
		}
	}
	return privileges == 0
}

// ReservedToAdmin returns the privileges that ACCESS alone cannot hand out.
func ReservedToAdmin() Set { return Operate | Backup | Restore | Audit }

// Grants lists the grants, including those of built-in roles. It must not be changed.
func (x *Index) Grants() []Grant { return x.grants }
