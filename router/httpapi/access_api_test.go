package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// fakeStatements records statements, and answers SHOW and statements that make a secret.
type fakeStatements struct {
	ran []string
	id  string // of the last request
}

func (f *fakeStatements) RunTexts(
	ctx context.Context, sql string,
) (columns []string, rows [][]string, affected int64, err error) {
	f.ran = append(f.ran, access.From(ctx).User+": "+sql)
	f.id = access.From(ctx).RequestID
	switch {
	case strings.Contains(sql, "refused"):
		return nil, nil, 0, errs.New(errs.PermissionDenied, "not allowed")
	case strings.HasPrefix(sql, "SHOW GRANTS"):
		return []string{"Grants"}, [][]string{{"GRANT a TO b"}, {`GRANT "c" TO d`}}, 0, nil
	case strings.HasPrefix(sql, "SHOW"):
		return []string{"User", "Valid until"}, [][]string{{"ann", ""}, {"bob", "2027"}}, 0, nil
	case strings.HasPrefix(sql, "CREATE TOKEN"), strings.Contains(sql, "ROTATE"):
		return []string{"Name", "Id", "Token", "Expires"}, [][]string{{"t", "i", "cw_x", ""}}, 0, nil
	}
	return nil, nil, 2, nil
}

// TestAccessAPI checks the statements that requests make, and the answers.
func TestAccessAPI(t *testing.T) {
	users, headers := senders(t)
	fake := &fakeStatements{}
	f := newWhole(t, func(c *Config) { c.Auth, c.Access = users, fake })
	const changes = `{"changes":2,`
	for _, tt := range []struct{ method, path, body, sql, answer string }{
		{
			"GET", "users?like=a%25&limit=5&offset=2", "", "SHOW USERS LIKE 'a%' LIMIT 5 OFFSET 2",
			`{"users":[{"name":"ann","valid_until":""},{"name":"bob","valid_until":"2027"}],`,
		},
		{"GET", "roles?like=x'y", "", "SHOW ROLES LIKE 'x''y' LIMIT 10000", `{"roles":[`},
		{"GET", "tokens", "", "SHOW TOKENS LIMIT 10000", `{"tokens":[`},
		{"GET", "grants", "", "SHOW GRANTS", `{"grants":["GRANT a TO b","GRANT \"c\" TO d"],`},
		{"GET", "grants?for=a%20b", "", `SHOW GRANTS FOR "a b"`, `{"grants":[`},
		{"GET", "users?limit=0", "", "", "1 to 10000"},
		{"GET", "users?offset=-1", "", "", "offset"},
		{"GET", "users?order=x", "", "", "order"},
		{
			"POST", "users", `{"name":"ann","password":"it's","valid_until":"2027-01-31","disabled":true}`,
			"CREATE USER ann PASSWORD 'it''s' VALID UNTIL '2027-01-31' DISABLED", changes,
		},
		{"POST", "users", `{"name":"a\"; DROP USER b"}`, `CREATE USER "a""; DROP USER b"`, changes},
		{"POST", "users", `{"name":"refused"}`, "CREATE USER refused", "not allowed"},
		{"POST", "users", `{"nam":"x"}`, "", "nam"},
		{"PUT", "users/a%40b", `{"valid_until":"","disabled":false}`, `ALTER USER "a@b" VALID FOREVER ENABLED`, changes},
		{"PUT", "users/ann", `{"name":"bob"}`, "", "cannot be renamed"},
		{"DELETE", "users/ann", "", "DROP USER ann", changes},
		{"POST", "roles", `{"name":"team"}`, "CREATE ROLE team", changes},
		{"DELETE", "roles/team", "", "DROP ROLE team", changes},
		{
			"POST", "tokens", `{"name":"t","ingest_into":"web","pipeline":"p","from":["192.0.2.0/24"],"expires_in":"9d",` +
				`"note":"n"}`,
			"CREATE TOKEN t FOR INGEST INTO TABLE web PIPELINE p FROM '192.0.2.0/24' EXPIRES IN '9d' NOTE 'n'",
			`{"name":"t","id":"i","token":"cw_x","expires":"",`,
		},
		{
			"POST", "tokens", `{"name":"t","grants":[{"privileges":["select"],"on":["app.*"]},{"privileges":["ALL"],` +
				`"on":["CLUSTER","PIPELINE p"]}],"expires":"never"}`,
			"CREATE TOKEN t FOR select ON app.*, ALL ON CLUSTER, PIPELINE p EXPIRES NEVER", `{"name":"t",`,
		},
		{
			"POST", "tokens", `{"name":"t","user":"ann","expires":"2027-01-31"}`,
			"CREATE TOKEN t FOR USER ann EXPIRES '2027-01-31'", `{"name":"t",`,
		},
		{"POST", "tokens", `{"name":"t","user":"ann","query_on":"a.b"}`, "", "give one of"},
		{"POST", "tokens", `{"name":"t"}`, "", "give one of"},
		{"POST", "tokens", `{"name":"t","query_on":"a.b","pipeline":"p"}`, "", "only possible with"},
		{"POST", "tokens", `{"name":"t","query_on":"a.b EXPIRES NEVER"}`, "", "EXPIRES"},
		{"POST", "tokens", `{"name":"t","query_on":"a.b","expires":"never","expires_in":"1d"}`, "", "not both"},
		{"PUT", "tokens/t", `{"from":[]}`, "ALTER TOKEN t SET FROM ANYWHERE", changes},
		{"PUT", "tokens/t", `{"query_on":"a.b"}`, "", "can be changed"},
		{"POST", "tokens/t/rotate", `{"overlap":"1h"}`, "ALTER TOKEN t ROTATE OVERLAP '1h'", `{"name":"t",`},
		{"DELETE", "tokens/t", "", "DROP TOKEN t", changes},
		{
			"POST", "grants", `{"privileges":["SELECT","INSERT"],"on":["app.l_*"],"principals":["ann","a b"],` +
				`"grant_option":true}`,
			`GRANT SELECT, INSERT ON app.l_* TO ann, "a b" WITH GRANT OPTION`, changes,
		},
		{"POST", "grants", `{"privileges":["SELECT"],"on":["app.*"],"principals":["ann"],"revoke":true,"grant_option":true,` +
			`"cascade":true}`, "REVOKE GRANT OPTION FOR SELECT ON app.* FROM ann CASCADE", changes},
		{"POST", "grants", `{"roles":["team"],"principals":["ann"]}`, "GRANT team TO ann", changes},
		{"POST", "grants", `{"roles":["team"],"principals":["ann"],"revoke":true}`, "REVOKE team FROM ann", changes},
		{"POST", "grants", `{"roles":["team"],"on":["a.b"],"principals":["ann"]}`, "", "not both"},
		{
			"POST", "grants", `{"privileges":["SELECT ON a.b TO c --"],"on":["a.b"],"principals":["ann"]}`, "",
			"not a privilege",
		},
		{"POST", "grants", `{"privileges":["ALL","SELECT"],"on":["a.b"],"principals":["ann"]}`, "", "not a privilege"},
		{
			"POST", "grants", `{"privileges":["SELECT"],"on":["a.b"],"principals":["ann"],"cascade":true}`, "",
			"only possible with",
		},
		{"POST", "grants", `{"principals":["ann"]}`, "", `give \"privileges\" and \"on\"`},
	} {
		fake.ran, fake.id = nil, ""
		w := f.call(tt.method, "/v1/access/"+tt.path, tt.body, "Authorization", headers["root"])
		want := []string{"root: " + tt.sql}
		if tt.sql == "" {
			want = nil
		}
		if strings.Join(fake.ran, "|") != strings.Join(want, "|") || !strings.Contains(w.Body.String(), tt.answer) ||
			(w.Code == http.StatusOK) != strings.HasPrefix(tt.answer, "{") {
			t.Errorf("%s %s %s: %q, %d %s", tt.method, tt.path, tt.body, fake.ran, w.Code, w.Body)
		}
		if changes := tt.method != "GET" && tt.sql != ""; changes && fake.id == "" {
			t.Errorf("%s %s: its record has no request id", tt.method, tt.path)
		}
		if secret := strings.Contains(w.Body.String(), "cw_x"); secret && w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: the answer with a secret may be kept", tt.method, tt.path)
		}
	}
}

// TestAccessAPIRefusals checks that requests are logged that are refused before their statement, and others only by it.
func TestAccessAPIRefusals(t *testing.T) {
	users, headers := senders(t)
	fake := &fakeStatements{}
	f := newWhole(t, func(c *Config) { c.Auth, c.Access = users, fake })
	for _, tt := range []struct {
		user, body string
		status     int
		logged     bool
	}{
		{"reader", `{"name":"x"}`, http.StatusForbidden, true},
		{"root", `{"nam":"x"}`, http.StatusBadRequest, true},
		{"root", `{"name":"x"}`, http.StatusOK, false},
		{"root", `{"name":"refused"}`, http.StatusForbidden, false},
	} {
		f.log.Reset()
		w := f.call(http.MethodPost, "/v1/access/users", tt.body, "Authorization", headers[tt.user])
		if w.Code != tt.status || strings.Contains(f.log.String(), `msg=change`) != tt.logged {
			t.Errorf("%s as %s: %d %s, %s", tt.body, tt.user, w.Code, w.Body, f.log.String())
		}
	}
}
