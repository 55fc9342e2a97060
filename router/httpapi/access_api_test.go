package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/query/declared"
)

// fakeStatements records statements, and answers SHOW and statements that make a secret.
type fakeStatements struct {
	ran []string
	id  string // of the last request
	// conditions are those of the last request.
	conditions []*metapb.AccessCondition
}

func (f *fakeStatements) AccessVersion(token bool, name string) []byte {
	switch {
	case token:
		return []byte{9}
	case name == "gone":
		return nil
	}
	return []byte{1, 2}
}

func (f *fakeStatements) AccessState(context.Context) (*declared.State, error) {
	return &declared.State{Users: map[string]*declared.Principal{"ann": {Grants: []string{"SELECT ON app.*"}}}}, nil
}

// MeantDatabase knows the database shop, which is no table.
func (*fakeStatements) MeantDatabase(_ context.Context, t rights.Target, _ string) error {
	if t.Name == "shop" {
		return errs.New(errs.InvalidArguments, "shop is a database: write shop.*")
	}
	return nil
}

func (f *fakeStatements) PlanAccess(_ context.Context, file []byte) ([]string, error) {
	var plan []string
	for _, name := range strings.Fields(string(file)) {
		plan = append(plan, strings.ReplaceAll(name, "DROP", "DROP USER ann"))
	}
	return plan, nil
}

func (f *fakeStatements) RunTexts(
	ctx context.Context, sql string, conditions ...*metapb.AccessCondition,
) (columns []string, rows [][]string, affected int64, err error) {
	f.ran = append(f.ran, access.From(ctx).User+": "+sql)
	f.id, f.conditions = access.From(ctx).RequestID, conditions
	switch {
	case len(conditions) > 0 && conditions[0].Name == "stale":
		return nil, nil, 0, errs.New(errs.IllegalState, "changed meanwhile")
	case strings.HasPrefix(sql, "SELECT"):
		row := make([]string, len(auditColumns))
		row[0], row[1], row[2], row[3], row[13] = "1700000000000000001", "n1", "7", "ann", "1001"
		other := slices.Clone(row)
		other[2] = "6"
		return auditColumns, [][]string{row, other}, 0, nil
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
		{"PUT", "users/ann", `{"certificate":"a'b"}`, "ALTER USER ann CERTIFICATE 'a''b'", changes},
		{"PUT", "users/ann", `{"certificate":""}`, "ALTER USER ann NO CERTIFICATE", changes},
		{"PUT", "users/ann", `{"database":"a\"b"}`, `ALTER USER ann DEFAULT DATABASE "a""b"`, changes},
		{"PUT", "users/ann", `{"database":""}`, "ALTER USER ann NO DEFAULT DATABASE", changes},
		{"PUT", "roles/team", `{"groups":["a b","it's"]}`, "ALTER ROLE team SET GROUPS ('a b', 'it''s')", changes},
		{"PUT", "roles/team", `{"groups":[]}`, "ALTER ROLE team UNSET GROUPS", changes},
		{"PUT", "roles/team", `{}`, "", "groups"},
		{"PUT", "users/ann", `{"name":"bob"}`, "", "cannot be renamed"},
		{"PUT", "users/ann", `{"disabled":true,"Disabled":false}`, "", "twice"},
		{"DELETE", "users/ann", "", "DROP USER ann", changes},
		{"GET", "users/ann", "", "SHOW USERS LIKE 'ann'", `{"name":"ann","valid_until":"",`},
		{"GET", "users/a_%25", "", `SHOW USERS LIKE 'a\_\%'`, "there is no user"},
		{"GET", "roles/bob", "", "SHOW ROLES LIKE 'bob'", `{"name":"bob","valid_until":"2027",`},
		{"GET", "tokens/ann", "", "SHOW TOKENS LIKE 'ann'", `{"name":"ann",`},
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

// TestAccessConditions checks the ETags of answers, and the conditions of changes.
func TestAccessConditions(t *testing.T) {
	users, headers := senders(t)
	fake := &fakeStatements{}
	f := newWhole(t, func(c *Config) { c.Auth, c.Access = users, fake })
	call := func(method, path, body string, header ...string) *httptest.ResponseRecorder {
		fake.conditions = nil
		return f.call(method, "/v1/access/"+path, body, append(header, "Authorization", headers["root"])...)
	}
	for path, tag := range map[string]string{
		"users/ann": `"0102"`, "roles/bob": `"0102"`, "tokens/ann": `"09"`, "grants?for=ann": `"0102"`, "grants?for=gone": "",
	} {
		if w := call("GET", path, ""); w.Code != 200 || w.Header().Get("ETag") != tag {
			t.Errorf("%s: %d, ETag %s, want %s", path, w.Code, w.Header().Get("ETag"), tag)
		}
	}
	const grant = `{"roles":["team"],"principals":["ann"]}`
	for _, tt := range []struct {
		method, path, body, match string
		status                    int
		want                      string // token, name and version of the condition
	}{
		{"PUT", "users/ann", `{}`, `"0102"`, 200, "false ann 0102"},
		{"DELETE", "roles/team", "", `"0102"`, 200, "false team 0102"},
		{"DELETE", "users/ann", "", "*", 200, "false ann "},
		{"PUT", "tokens/t", `{"note":"x"}`, `"09"`, 200, "true t 09"},
		{"POST", "tokens/t/rotate", `{}`, `"09"`, 200, "true t 09"},
		{"DELETE", "tokens/t", "", `"09"`, 200, "true t 09"},
		{"POST", "grants", grant, `"0102"`, 200, "false ann 0102"},
		{"POST", "grants", grant, "", 200, ""},
		{"POST", "grants", `{"roles":["team"],"principals":["ann","bob"]}`, `"0102"`, 400, ""},
		{"PUT", "users/stale", `{}`, `"0102"`, 412, "false stale 0102"},
		{"PUT", "users/ann", `{}`, "0102", 400, ""},
		{"PUT", "users/ann", `{}`, `"x"`, 400, ""},
		{"PUT", "users/ann", `{}`, `""`, 400, ""},
		{"POST", "users", `{"name":"ann"}`, `"0102"`, 400, ""},
	} {
		var header []string
		if tt.match != "" {
			header = []string{"If-Match", tt.match}
		}
		w, got := call(tt.method, tt.path, tt.body, header...), ""
		for _, c := range fake.conditions {
			got += fmt.Sprintf("%t %s %x", c.Token, c.Name, c.Version)
		}
		if w.Code != tt.status || got != tt.want {
			t.Errorf("%s %s, If-Match %s: %d %s, condition %q", tt.method, tt.path, tt.match, w.Code, w.Body, got)
		}
	}
	if w := call("PUT", "users/ann", `{}`, "If-None-Match", "*"); w.Code != 400 {
		t.Errorf("If-None-Match: %d %s", w.Code, w.Body)
	}
}

// TestAccessAudit checks the query of a request for audit records, its cursor, and who may send it.
func TestAccessAudit(t *testing.T) {
	users, headers := senders(t)
	fake := &fakeStatements{}
	f := newWhole(t, func(c *Config) { c.Auth, c.Access = users, fake })
	call := func(query string) (int, string) {
		fake.ran = nil
		w := f.call("GET", "/v1/access/audit"+query, "", "Authorization", headers["root"])
		return w.Code, w.Body.String()
	}
	status, body := call("?limit=1&principal=it's&outcome=failed&since=2026-01-31")
	const record = `{"records":[{"ts":"2023-11-14T22:13:20.000000001Z","node":"n1","id":7,"principal":"ann",` +
		`"code":1001}],"next":"`
	if status != 200 || !strings.HasPrefix(body, record) {
		t.Errorf("%d %s", status, body)
	}
	for _, part := range []string{
		"principal = 'it''s'", "outcome = 'failed'", "ts >= '2026-01-31 00:00:00.0", "LIMIT 2)",
	} {
		if len(fake.ran) != 1 || !strings.Contains(fake.ran[0], part) {
			t.Errorf("%q does not contain %s", fake.ran, part)
		}
	}
	var page struct{ Next string }
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatal(err)
	}
	status, body = call("?after=" + page.Next)
	want := "(ts < '2023-11-14 22:13:20.000000001' OR ts = '2023-11-14 22:13:20.000000001' AND (node > 'n1' OR " +
		"node = 'n1' AND id < 7))"
	if status != 200 || strings.Contains(body, "next") || !strings.Contains(fake.ran[0], want) {
		t.Errorf("%d %s: %q", status, body, fake.ran)
	}
	cursor := func(plain string) string { return "?after=" + base64.RawURLEncoding.EncodeToString([]byte(plain)) }
	bad := base64.RawURLEncoding.EncodeToString([]byte("1 1) OR (1=1 n"))
	for _, query := range []string{
		"?limit=0", "?limit=1001", "?since=x", "?until=2300-01-01", "?after=x", "?after=" + bad, "?x=1",
		"?principal=%00", cursor("9223372036854775807 1 n"), cursor("-1 1 n"), cursor("1 1 \xff"),
	} {
		if status, body := call(query); status != 400 || len(fake.ran) > 0 {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	if w := f.call("GET", "/v1/access/audit", "", "Authorization", headers["reader"]); w.Code != 403 {
		t.Errorf("a reader: %d", w.Code)
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
