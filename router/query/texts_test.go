package query

import (
	"fmt"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// TestRunTexts checks the rows and the changes of statements, and that rights are checked as for other statements.
func TestRunTexts(t *testing.T) {
	root := by("root", access.ReadWrite)
	w := newWorld(t)
	columns, rows, _, err := w.RunTexts(root, "SHOW ROLES LIKE 'read%'")
	if got := fmt.Sprint(columns, rows); err != nil || got != "[Role Roles State Groups] [[reader  built in ]]" {
		t.Errorf("%s %v", got, err)
	}
	if _, rows, _, err := w.RunTexts(root, "CREATE USER new"); err != nil || rows != nil ||
		len(w.meta.proposed) != 1 {
		t.Errorf("%v %v", rows, err)
	}
	for sql, code := range map[string]errs.Code{
		"CREATE USER other": errs.PermissionDenied, "CREATE": errs.InvalidSyntax, "": errs.InvalidSyntax,
		"SHOW GRANTS; SHOW GRANTS": errs.InvalidArguments,
	} {
		if _, _, _, err := w.RunTexts(with(), sql); errs.CodeOf(err) != code {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
