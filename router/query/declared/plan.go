package declared

import (
	"maps"
	"slices"
	"strings"

	"cordwood/proto/rights"
	"cordwood/proto/schema"
)

// plan has statements by the order in which they must run: what they name exists, and nobody has more rights meanwhile
// than before or after.
type plan struct{ create, alter, revoke, grant, drop, quotas []string }

// Plan returns the statements that turn have into want. What want does not mention remains: kinds of objects whose map
// is nil. Passwords remain as well, and new users have none.
func Plan(have, want *State) ([]string, error) {
	p := &plan{}
	if err := p.principals("ROLE", have.Roles, want.Roles); err != nil {
		return nil, err
	}
	if err := p.principals("USER", have.Users, want.Users); err != nil {
		return nil, err
	}
	if want.Quotas != nil {
		if err := p.changeQuotas(have.Quotas, want.Quotas); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(p.drop, strings.Compare) // roles before users
	return slices.Concat(p.create, p.alter, p.revoke, p.grant, p.drop, p.quotas), nil
}

func (p *plan) principals(kind string, have, want map[string]*Principal) error {
	if want == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		old, quoted := have[name], rights.QuoteName(name)
		if old == nil {
			old = &Principal{}
			p.create = append(p.create, "CREATE "+kind+" "+quoted)
		}
		p.change(kind, quoted, old, want[name])
		if err := p.grants(quoted, old, want[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			p.drop = append(p.drop, "DROP "+kind+" "+rights.QuoteName(name))
		}
	}
	return nil
}

// change changes the options of a user or role, and its roles.
func (p *plan) change(kind, name string, have, want *Principal) {
	options := ""
	set := func(old, now, words, none string, quote func(string) string) {
		switch {
		case old == now:
		case now == "":
			options += " " + none
		default:
			options += " " + words + " " + quote(now)
		}
	}
	set(have.ValidUntil, want.ValidUntil, "VALID UNTIL", "VALID FOREVER", rights.QuoteText)
	set(have.Certificate, want.Certificate, "CERTIFICATE", "NO CERTIFICATE", rights.QuoteText)
	set(have.Database, want.Database, "DEFAULT DATABASE", "NO DEFAULT DATABASE", rights.QuoteName)
	if have.Disabled != want.Disabled {
		options += map[bool]string{true: " DISABLED", false: " ENABLED"}[want.Disabled]
	}
	if groups := slices.Sorted(slices.Values(want.Groups)); !slices.Equal(groups, have.Groups) {
		quoted := make([]string, len(groups))
		for i, g := range groups {
			quoted[i] = rights.QuoteText(g)
		}
		options += " SET GROUPS (" + strings.Join(quoted, ", ") + ")"
		if len(groups) == 0 {
			options = " UNSET GROUPS"
		}
	}
	if options != "" {
		p.alter = append(p.alter, "ALTER "+kind+" "+name+options)
	}
	for _, r := range have.Roles {
		if !slices.Contains(want.Roles, r) {
			p.revoke = append(p.revoke, "REVOKE "+rights.QuoteName(r)+" FROM "+name)
		}
	}
	for _, r := range slices.Compact(slices.Sorted(slices.Values(want.Roles))) {
		if !slices.Contains(have.Roles, r) {
			p.grant = append(p.grant, "GRANT "+rights.QuoteName(r)+" TO "+name)
		}
	}
}

// grants changes the grants of a user or role. A grant that a wider one of want contains is left alone, because it
// cannot be revoked alone, and changes nothing.
func (p *plan) grants(name string, old, now *Principal) error {
	have, err := parseGrants(old.Grants)
	if err != nil {
		return err
	}
	want, err := parseGrants(now.Grants)
	if err != nil {
		return err
	}
	targets := sorted(have)
	for _, t := range targets { // wide targets first, since REVOKE also takes from the targets that they cover
		keep := want[t]
		for wide, h := range want {
			if wide.Covers(t) {
				keep = held{keep.privileges | h.privileges, keep.grantable | h.grantable}
			}
		}
		for _, one := range []struct {
			words string
			set   rights.Set
		}{
			{"REVOKE ", have[t].privileges &^ keep.privileges},
			{"REVOKE GRANT OPTION FOR ", have[t].grantable &^ keep.grantable & keep.privileges},
		} {
			if one.set == 0 {
				continue
			}
			p.revoke = append(p.revoke, one.words+one.set.String()+" ON "+t.String()+" FROM "+name)
			for _, inner := range targets {
				if t.Covers(inner) {
					h := have[inner]
					h.grantable &^= one.set
					if one.words == "REVOKE " {
						h.privileges &^= one.set
					}
					have[inner] = h
				}
			}
		}
	}
	for _, t := range sorted(want) {
		w, h := want[t], have[t]
		option := w.grantable &^ h.grantable
		if plain := w.privileges &^ h.privileges &^ option; plain != 0 {
			p.grant = append(p.grant, "GRANT "+plain.String()+" ON "+t.String()+" TO "+name)
		}
		if option != 0 {
			p.grant = append(p.grant, "GRANT "+option.String()+" ON "+t.String()+" TO "+name+grantOption)
		}
	}
	return nil
}

// changeQuotas changes the quotas of databases.
func (p *plan) changeQuotas(have, want map[string]map[string]string) error {
	for _, database := range slices.Sorted(maps.Keys(want)) {
		var set []string
		for _, name := range slices.Sorted(maps.Keys(want[database])) {
			key := schema.QuotaPrefix + name
			value, err := schema.NormalizeQuota(key, want[database][name])
			if err != nil {
				return err
			}
			if have[database][name] != value {
				set = append(set, rights.QuoteText(key)+" = "+rights.QuoteText(value))
			}
		}
		if len(set) > 0 {
			p.quotas = append(p.quotas, "ALTER DATABASE "+rights.QuoteName(database)+" SET "+strings.Join(set, ", "))
		}
	}
	for _, database := range slices.Sorted(maps.Keys(have)) {
		var unset []string
		for _, name := range slices.Sorted(maps.Keys(have[database])) {
			if _, kept := want[database][name]; !kept {
				unset = append(unset, rights.QuoteText(schema.QuotaPrefix+name))
			}
		}
		if len(unset) > 0 {
			p.quotas = append(p.quotas, "ALTER DATABASE "+rights.QuoteName(database)+" UNSET "+strings.Join(unset, ", "))
		}
	}
	return nil
}
