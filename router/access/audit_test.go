package access

import (
	"testing"

	"cordwood/proto/rights"
)

// TestOnlyAuditReadsTheRecords checks who may read the audit records: a grant of SELECT, even by the name of the table,
// is not enough, because users who may grant SELECT but not AUDIT could otherwise read them.
func TestOnlyAuditReadsTheRecords(t *testing.T) {
	granted := func(g rights.Grant) Sender {
		return Sender{User: "ann", Grants: rights.NewIndex([]rights.Grant{g}, nil)}
	}
	everything := rights.Target{Kind: rights.Tables, Database: "*", Name: "*"}
	named := rights.Target{Kind: rights.Tables, Database: "svc_private", Name: "audit"}
	for what, c := range map[string]struct {
		sender Sender
		may    bool
	}{
		"rw": {Sender{Right: ReadWrite}, true}, "ro": {Sender{Right: ReadOnly}, false},
		"wo": {Sender{Right: WriteOnly}, false}, "nobody": {Sender{}, false},
		"ALL on all tables":   {granted(rights.Grant{Target: everything, Privileges: rights.OfTables}), false},
		"SELECT on the table": {granted(rights.Grant{Target: named, Privileges: rights.Select}), false},
		"ACCESS": {
			granted(rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Access | rights.Monitor}),
			false,
		},
		"AUDIT": {granted(rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Audit}), true},
	} {
		for _, name := range [][2]string{{"svc_private", "audit"}, {"SVC_Private", "Audit"}} {
			need := Need{Privilege: Select, Object: Object{Kind: Table, Database: name[0], Name: name[1]}}
			if got := c.sender.May(need); got != c.may {
				t.Errorf("%s may read %s.%s: %t", what, name[0], name[1], got)
			}
			if err := c.sender.Require(need); (err == nil) != c.may {
				t.Errorf("%s requires %s.%s: %v", what, name[0], name[1], err)
			}
			if c.sender.Grants != nil && c.sender.Sees(name[0], name[1]) != c.may {
				t.Errorf("%s sees %s.%s: %t", what, name[0], name[1], !c.may)
			}
		}
	}
}
