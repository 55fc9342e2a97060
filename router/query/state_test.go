package query

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// TestPlanAccess checks the statements for a file, and that a file is refused as a whole if the sender may not manage
// users or no administrator would be left.
func TestPlanAccess(t *testing.T) {
	const verifier = "SCRAM-SHA-256$x"
	users := &fakeUsers{principals: []*metapb.AccessPrincipal{
		{Name: "ann", Verifier: verifier},
		{Name: "boss", Verifier: verifier, Roles: []string{"chiefs"}},
		{Name: "chiefs", Role: true, Roles: []string{rights.AdminRole}},
		{Name: "new"},
	}}
	w := newWorld(t, func(c *Config) { c.Accounts = users })
	keeper := with(rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Access})
	const none = "leaves no administrator"
	for file, want := range map[string]string{
		"roles: {chiefs: {roles: [admin]}}":                 "",
		"users: {boss: {roles: [chiefs]}}":                  "DROP USER ann|DROP USER new",
		"users: {ann: {roles: [admin]}, boss: {}, new: {}}": "REVOKE chiefs FROM boss|GRANT admin TO ann",
		"users: {}":                                                 none,
		"users: {ann: {}, boss: {}, new: {}}":                       none,
		"users: {new: {roles: [admin]}}":                            none,
		"users: {boss: {roles: [chiefs], disabled: true}}":          none,
		"users: {boss: {roles: [chiefs], valid_until: 2030-01-01}}": none,
		"roles: {}":           none,
		"roles: {chiefs: {}}": none,
		"users: {boss: {roles: [more]}}\nroles: {more: {roles: [admin]}}": "CREATE ROLE more|GRANT admin TO more|" +
			"REVOKE chiefs FROM boss",
		"users: {ann: {valid_until: tomorrow}}": "VALID UNTIL",
		"quotas: {}":                            "may not show quotas",
	} {
		plan, err := w.PlanAccess(keeper, []byte(file))
		got := strings.Join(plan, "|")
		if err != nil {
			got = err.Error()
		}
		for _, one := range strings.Split(want, "|") {
			if !strings.Contains(got, one) || want == "" && got != "" {
				t.Errorf("%s: %s, want %s", file, got, want)
			}
		}
	}
	if _, err := w.PlanAccess(with(), []byte("users: {}")); errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("without ACCESS: %v", err)
	}
}
