package query

import (
	"maps"
	"slices"
	"sync"

	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query/pgcatalog"
)

// The privileges of PostgreSQL's functions such as has_table_privilege. They follow from the same rights as all
// statements.

// holders returns the users and roles whose privileges the caller may know: the caller and the caller's roles, and with
// the privilege ACCESS all.
func (c clients) holders(caller *access.Caller) []pgcatalog.Holder {
	all := map[string]*metapb.AccessPrincipal{}
	if c.principals != nil {
		for _, p := range c.principals() {
			all[p.Name] = p
		}
	}
	find := func(name string) *metapb.AccessPrincipal { return all[name] }
	rolesOf := func(s access.Sender) []string {
		p := find(s.User)
		switch {
		case s.Grants == nil:
			return []string{listedRoles[s.Right]}
		case s.Person != nil:
			p = rights.OfPerson(p, s.User, rights.RolesOfGroups(maps.Values(all), s.Person.Groups))
		}
		roles, _ := rights.Flatten(p, find)
		return roles
	}
	own := caller.Sender
	list := []pgcatalog.Holder{holder(own.User, func() (access.Sender, []string) { return own, rolesOf(own) })}
	seen := map[string]bool{own.User: true}
	add := func(name string, of func() (access.Sender, []string)) {
		if !seen[name] {
			seen[name] = true
			list = append(list, holder(name, of))
		}
	}
	roles := rolesOf(own)
	if c.users != nil && caller.May(access.Need{Privilege: access.ManageAccess}) {
		for _, s := range c.users() {
			add(s.User, func() (access.Sender, []string) { return s, rolesOf(s) })
		}
		roles = rights.BuiltInRoles()
		for name, p := range all {
			if p.Role {
				roles = append(roles, name)
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(roles)) {
		add(name, func() (access.Sender, []string) {
			below, grants := []string{name}, []rights.Grant(nil)
			if p := find(name); p != nil {
				below, grants = rights.Flatten(p, find)
			}
			s := access.Sender{User: name, Grants: rights.NewIndex(grants, below)}
			return s, below
		})
	}
	// The owner of all objects may do everything, unless a user has this name.
	add(pgcatalog.Owner, func() (access.Sender, []string) {
		return access.Sender{User: pgcatalog.Owner, Right: access.ReadWrite}, nil
	})
	current := list[0]
	current.OID = pgcatalog.CurrentRole
	public := pgcatalog.Holder{Name: "public", OID: pgcatalog.PublicRole, On: nothing}
	if own.Proof == access.Everybody().Proof { // everybody may do everything
		public.On = current.On
	}
	return append(list, current, public)
}

func nothing(pgcatalog.ObjectKind, string, string) (has, grantable pgcatalog.Privileges) { return 0, 0 }

// holder returns the user or role that of returns with its roles.
func holder(name string, of func() (access.Sender, []string)) pgcatalog.Holder {
	get := sync.OnceValues(of) // most statements do not need the index of another user
	on := func(kind pgcatalog.ObjectKind, database, object string) (has, grantable pgcatalog.Privileges) {
		s, roles := get()
		switch kind {
		case pgcatalog.Relation:
			return tablePrivileges(&s, database, object)
		case pgcatalog.Namespace:
			return schemaPrivileges(&s, object)
		case pgcatalog.Catalogs:
			has = pgcatalog.Connect
			if s.May(access.Need{Privilege: access.Create, Object: access.Object{Kind: access.Database}}) {
				has |= pgcatalog.Create
			}
			return has, has & grantsAll(&s, rights.Create, rights.Target{Kind: rights.Tables, Database: "*", Name: "*"})
		}
		if administers(&s) {
			return pgcatalog.Member | pgcatalog.Usage, pgcatalog.Member | pgcatalog.Usage
		}
		if object == s.User || slices.Contains(roles, object) {
			return pgcatalog.Member | pgcatalog.Usage, 0
		}
		return 0, 0
	}
	return pgcatalog.NewHolder(name, on)
}

// administers reports whether a sender may do everything.
func administers(s *access.Sender) bool {
	if s.Grants != nil {
		return s.Grants.Admin() && !s.IngestOnly
	}
	return s.Right == access.ReadWrite
}

// grantsAll returns all privileges if a sender may grant a privilege on a target, and otherwise none.
func grantsAll(s *access.Sender, p rights.Set, t rights.Target) pgcatalog.Privileges {
	if administers(s) || s.Grants != nil && s.Grants.MayGrant(p, t) {
		return ^pgcatalog.Privileges(0)
	}
	return 0
}

// tablePrivileges returns the privileges on a table. No statement changes values, so UPDATE is never among them.
func tablePrivileges(s *access.Sender, database, name string) (has, grantable pgcatalog.Privileges) {
	object := access.Object{Kind: access.Table, Database: database, Name: name}
	if needs := privateNeed(database, name); needs != access.Undeclared {
		if s.May(access.Need{Privilege: needs, Object: object}) {
			return pgcatalog.Select, 0
		}
		return 0, 0
	}
	target := rights.Target{Kind: rights.Tables, Database: database, Name: name}
	for _, p := range []struct {
		need access.Privilege
		bit  rights.Set
		set  pgcatalog.Privileges
	}{
		{access.Select, rights.Select, pgcatalog.Select},
		{access.Insert, rights.Insert, pgcatalog.Insert},
		{access.Delete, rights.Delete, pgcatalog.Delete | pgcatalog.Truncate},
	} {
		changes := p.need != access.Select
		if changes && schema.ReservedDatabase(database) || !s.May(access.Need{Privilege: p.need, Object: object}) {
			continue
		}
		has |= p.set
		grantable |= p.set & grantsAll(s, p.bit, target)
	}
	return has, grantable
}

// privateNeed returns the privilege for reading a system table, or Undeclared if a table is stored.
func privateNeed(database, name string) access.Privilege {
	if database == schema.CatalogDatabase {
		return access.Query // as all tables of the catalog need
	}
	for _, t := range systemTables {
		if t.database == database && t.name == name {
			return t.needs
		}
	}
	return access.Undeclared
}

// schemaPrivileges returns the privileges on a database, which is a schema in PostgreSQL: USAGE if it exists for the
// sender, and CREATE if the sender may create tables of any name in it.
func schemaPrivileges(s *access.Sender, database string) (has, grantable pgcatalog.Privileges) {
	if schema.ReservedDatabase(database) {
		return pgcatalog.Usage, 0
	}
	if s.SeesDatabase(database) {
		has |= pgcatalog.Usage
	}
	create := access.Need{Privilege: access.Create, Object: access.Object{Kind: access.Table, Database: database}}
	if s.May(create) && (s.Grants == nil || s.Grants.OnDatabase(database)&rights.Create != 0) {
		has |= pgcatalog.Create
	}
	return has, has & pgcatalog.Create & grantsAll(s, rights.Create, rights.Target{
		Kind: rights.Tables, Database: database, Name: "*",
	})
}
