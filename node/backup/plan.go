package backup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// This file plans a restore. It changes nothing.

// plan selects what is restored, and checks that the cluster has no tables in the way. It changes nothing.
func (s *restoration) plan(ctx context.Context) error {
	tables, err := s.readMetadata(ctx)
	if err != nil {
		return err
	}
	if tables, err = s.choose(tables); err != nil {
		return err
	}
	state, err := s.cfg.Target.state(ctx)
	if err != nil {
		return fmt.Errorf("read the metadata of the cluster: %w", err)
	}
	if err := s.checkReplace(); err != nil {
		return err
	}
	if err := s.compare(tables, state); err != nil {
		return err
	}
	if err := s.planMerging(); err != nil || s.cfg.MetadataOnly {
		return err
	}
	for _, t := range s.tables {
		if err := t.planExpiry(s.options[t.from.Database][schema.OptionTTL], s.cfg.Now()); err != nil {
			return fmt.Errorf("table %s: %w", t.name(), err)
		}
	}
	return s.checkFiles(ctx)
}

// choose returns the requested tables.
func (s *restoration) choose(tables []*schemapb.Table) ([]*schemapb.Table, error) {
	var own []*schemapb.Table
	for _, t := range tables {
		if schema.ReservedDatabase(t.Database) || t.Restored.GetReplaces() != "" {
			s.out.LeftOut = append(s.out.LeftOut, t.Database+"."+t.Name)
		} else {
			own = append(own, t)
		}
	}
	s.databases = slices.DeleteFunc(s.databases, func(d *schemapb.Database) bool {
		return schema.ReservedDatabase(d.Name)
	})
	if len(s.cfg.Databases)+len(s.cfg.Tables) == 0 {
		return own, nil
	}
	s.out.LeftOut, s.pipelines, s.saved = nil, nil, nil
	databases, names, err := s.wanted(own)
	if err != nil {
		return nil, err
	}
	needed := maps.Clone(databases)
	var chosen []*schemapb.Table
	for _, t := range own {
		if databases[t.Database] || names[schema.FormatTableName(t.Database, t.Name)] {
			chosen = append(chosen, t)
			needed[t.Database] = true
		}
	}
	s.databases = slices.DeleteFunc(s.databases, func(d *schemapb.Database) bool { return !needed[d.Name] })
	return chosen, nil
}

// wanted returns the requested databases and tables, by name. own lists the tables of the backup, except the server's
// own tables.
func (s *restoration) wanted(own []*schemapb.Table) (databases, names map[string]bool, err error) {
	databases, names = map[string]bool{}, map[string]bool{}
	for _, d := range s.cfg.Databases {
		if _, ok := s.options[d]; !ok {
			return nil, nil, fmt.Errorf("backup %s has no database %s%s", s.b.Id, d,
				nearest.DidYouMean("; ", d, slices.Sorted(maps.Keys(s.options))))
		}
		databases[d] = true
	}
	for _, name := range s.cfg.Tables {
		database, table, err := schema.ParseTableName(name)
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(own, func(t *schemapb.Table) bool {
			return t.Database == cmp.Or(database, schema.DefaultDatabase) && t.Name == table
		})
		if i < 0 {
			return nil, nil, fmt.Errorf("backup %s has no table %s: %s", s.b.Id, name, likeTable(own, name))
		}
		names[schema.FormatTableName(own[i].Database, own[i].Name)] = true
	}
	return databases, names, nil
}

// likeTable suggests the table that was probably meant by a wrong name.
func likeTable(own []*schemapb.Table, name string) string {
	var short, long []string
	for _, t := range own {
		full := schema.FormatTableName(t.Database, t.Name)
		long = append(long, full)
		if t.Name == name {
			return fmt.Sprintf("did you mean %q?", full) // in another database
		}
		if t.Database == schema.DefaultDatabase {
			short = append(short, t.Name)
		}
	}
	if !strings.Contains(name, ".") {
		long = short
	}
	return cmp.Or(nearest.DidYouMean("", name, long), "name it as DATABASE.TABLE")
}

// compare compares the chosen tables with the tables of the cluster.
func (s *restoration) compare(tables []*schemapb.Table, state *metapb.WatchResponse) error {
	have := map[string]*schemapb.Table{}
	for _, t := range state.Tables {
		have[schema.FormatTableName(t.Database, t.Name)] = t
	}
	asides := asidesOf(state.Tables)
	wanted := map[string]bool{}
	var inTheWay []string
	empty := true // whether the target databases are empty
	for _, t := range tables {
		rt := &restoredTable{from: t, as: t.Name}
		wanted[rt.name()] = true
		if s.cfg.Existing == Replace {
			s.planAside(rt, have[rt.name()], asides[rt.name()])
			continue
		}
		s.leftovers = append(s.leftovers, asides[rt.name()]...)
		if old := have[rt.name()]; old != nil {
			switch {
			case old.Restored.GetBackupId() == s.b.Id && !old.Restored.Complete:
				rt.had = old
			case old.Restored.GetBackupId() == s.b.Id:
				s.out.Complete = append(s.out.Complete, rt.name())
				continue
			default:
				inTheWay = append(inTheWay, rt.name())
			}
		}
		s.tables = append(s.tables, rt)
		s.byID[t.Id] = rt
	}
	s.noteLeftovers(asides, wanted)
	if s.cfg.Existing == Refuse {
		for _, t := range state.Tables {
			name := schema.FormatTableName(t.Database, t.Name)
			if !wanted[name] && s.wholly(t.Database) {
				inTheWay, empty = append(inTheWay, name), false
			}
		}
	}
	if len(inTheWay) == 0 {
		return nil
	}
	return s.inTheWay(inTheWay, empty)
}

// noteLeftovers records the tables that other restores have left, and adds the leftovers of wanted tables to wanted.
func (s *restoration) noteLeftovers(asides map[string][]*schemapb.Table, wanted map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(asides)) {
		for _, t := range asides[name] {
			if full := schema.FormatTableName(t.Database, t.Name); wanted[name] {
				wanted[full] = true // the leftover will be dropped or used
			} else {
				s.out.Leftovers = append(s.out.Leftovers, full)
			}
		}
	}
}

// inTheWay returns the error for tables that prevent a restore from starting. empty reports whether only tables of
// the backup are in the way.
func (s *restoration) inTheWay(inTheWay []string, empty bool) error {
	slices.Sort(inTheWay)
	list := strings.Join(inTheWay[:min(len(inTheWay), 10)], ", ")
	if n := len(inTheWay); n > 10 {
		list += fmt.Sprintf(" and %d more", n-10)
	}
	if !empty {
		return &InTheWayError{
			inTheWay, fmt.Sprintf("the cluster is not empty, nothing was changed: these tables are in the way: %s: "+
				"restore into an "+
				"empty cluster, choose other tables with --database and --table, restore next to them with "+
				"--into-existing, or replace tables of the same name with --replace", list),
		}
	}
	return &InTheWayError{
		inTheWay, fmt.Sprintf("tables of the same name exist, nothing was changed: %s: drop or rename them, or replace "+
			"them with --replace", list),
	}
}

// wholly reports whether a database is restored as a whole, rather than selected tables of it. Then other tables in
// the database are in the way, unless the restore adds to them.
func (s *restoration) wholly(database string) bool {
	if len(s.cfg.Databases)+len(s.cfg.Tables) > 0 {
		return slices.Contains(s.cfg.Databases, database)
	}
	return slices.ContainsFunc(s.databases, func(d *schemapb.Database) bool { return d.Name == database })
}

// InTheWayError lists the tables of the cluster that prevent a restore from starting.
type InTheWayError struct {
	Tables []string
	text   string
}

func (e *InTheWayError) Error() string { return e.text }
