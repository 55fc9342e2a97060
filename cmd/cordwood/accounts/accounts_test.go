package accounts

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli/clitest"
	"cordwood/router/access/token"
)

// asked is a server that records requests, and answers with rows.
type asked struct {
	*httptest.Server
	statement, authorization string
	rows                     string
}

func newAsked(t *testing.T) *asked {
	a := &asked{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.statement, a.authorization = string(body), r.Header.Get("Authorization")
		_, _ = io.WriteString(w, a.rows)
	}))
	t.Cleanup(a.Close)
	return a
}

func root() *cobra.Command {
	user := &cobra.Command{Use: "user"}
	user.AddCommand(UserCommands(func(cmd *cobra.Command) (string, error) { return firstLine(cmd, "-") })...)
	r := clitest.Root()
	r.AddCommand(NewTokenCommand(), NewRoleCommand(), NewGrantCommand(), NewRevokeCommand(), NewGrantsCommand(), user,
		NewWhoamiCommand(), NewAccessCommand(), NewQuotaCommand(), NewAuditCommand())
	return r
}

// TestStatements checks the statement that each command sends.
func TestStatements(t *testing.T) {
	a := newAsked(t)
	for args, want := range map[string]string{
		"token|create|web1|INGEST INTO app.*|--pipeline|p|--from|192.0.2.0/24|--from|::1|--expires|90d|" +
			"--note|it's": "CREATE TOKEN web1 FOR INGEST INTO app.* PIPELINE p FROM '192.0.2.0/24', '::1' EXPIRES IN '90d' " +
			"NOTE 'it''s'",
		"token|create|t|USER|ann|--expires|never":      "CREATE TOKEN t FOR USER ann EXPIRES NEVER",
		"token|create|t|QUERY ON x|--expires|2030-1-1": "CREATE TOKEN t FOR QUERY ON x EXPIRES '2030-1-1'",
		"token|rotate|t":                         "ALTER TOKEN t ROTATE OVERLAP '24h'",
		"token|drop|a.b":                         `DROP TOKEN "a.b"`,
		"token|list|--like|w%":                   "SHOW TOKENS LIKE 'w%'",
		"role|create|team":                       "CREATE ROLE team",
		"role|drop|team":                         "DROP ROLE team",
		"role|groups|team|a b|it's":              "ALTER ROLE team SET GROUPS ('a b', 'it''s')",
		"role|groups|team":                       "ALTER ROLE team UNSET GROUPS",
		"role|list":                              "SHOW ROLES",
		"grant|SELECT ON app.*|TO|ann":           "GRANT SELECT ON app.* TO ann",
		"revoke|reader|FROM|ann":                 "REVOKE reader FROM ann",
		"grants":                                 "SHOW GRANTS",
		"grants|ann":                             "SHOW GRANTS FOR ann",
		"user|list":                              "SHOW USERS",
		"user|create|x|--no-password|--disabled": "CREATE USER x DISABLED",
		"user|disable|x":                         "ALTER USER x DISABLED",
		"user|enable|x":                          "ALTER USER x ENABLED",
		"user|drop|x":                            "DROP USER x",
		"quota|show|--like|a%":                   "SHOW QUOTAS LIKE 'a%'",
		"quota|set|a.b|Tables=5|quota.stored_bytes=2TB": `ALTER DATABASE "a.b" SET 'quota.tables' = '5', ` +
			"'quota.stored_bytes' = '2TB'",
		"quota|unset|app|tables|columns": "ALTER DATABASE app UNSET 'quota.tables', 'quota.columns'",
	} {
		a.statement = ""
		if _, _, err := clitest.Execute(t, root(), "", append(strings.Split(args, "|"), "--server", a.URL)...); err != nil ||
			a.statement != want {
			t.Errorf("%s: %s, want %s; %v", args, a.statement, want, err)
		}
	}
}

// TestPasswordsStayHere checks that a password is not sent, and not taken from an argument.
func TestPasswordsStayHere(t *testing.T) {
	a := newAsked(t)
	const password = "correct horse battery"
	for args, want := range map[string]string{
		"user create ann":                                      "CREATE USER ann PASSWORD 'SCRAM-SHA-256$15000:",
		"user password ann":                                    "ALTER USER ann PASSWORD 'SCRAM-SHA-256$15000:",
		"user create ann --password-file -":                    "CREATE USER ann PASSWORD 'SCRAM-SHA-256$15000:",
		"user password ann --user ann:old":                     "ALTER USER CURRENT_USER PASSWORD 'SCRAM-SHA-256$15000:",
		"user create ann " + strings.Fields(password)[0]:       "",
		"user create ann --no-password --password-file /dev/x": "",
	} {
		a.statement = ""
		_, _, err := clitest.Execute(t, root(), password+"\n", append(strings.Fields(args), "--server", a.URL)...)
		if (err == nil) != (want != "") || !strings.HasPrefix(a.statement, want) || strings.Contains(a.statement, password) {
			t.Errorf("%s: %s, %v", args, a.statement, err)
		}
	}
	if _, _, err := clitest.Execute(t, root(), "short\n", "user", "create", "ann", "--server", a.URL); err == nil {
		t.Error("a short password is accepted")
	}
}

// TestSecret checks that a script gets the token alone, and that a person is told that it is shown once.
func TestSecret(t *testing.T) {
	a := newAsked(t)
	text, id := token.New()
	a.rows = `{"Name":"web1","Id":"` + id + `","Token":"` + text + `","Expires":""}` + "\n"
	out, errOut, err := clitest.Execute(t, root(), "", "token", "create", "web1", "QUERY ON x", "--server", a.URL)
	if err != nil || out != text+"\n" || !strings.Contains(errOut, "only time") || strings.Contains(errOut, text) {
		t.Errorf("%q %q %v", out, errOut, err)
	}
	out, _, err = clitest.Execute(t, root(), text+"\n", "token", "inspect")
	if err != nil || !strings.Contains(out, id) || strings.Contains(out, text) {
		t.Errorf("%q %v", out, err)
	}
	if _, _, err = clitest.Execute(t, root(), text[:49]+"\n", "token", "inspect"); err == nil {
		t.Error("a token that was cut is accepted")
	}
}

// TestCredentials checks which of a user and a token is sent.
func TestCredentials(t *testing.T) {
	text, _ := token.New()
	encoded := base64.StdEncoding.EncodeToString([]byte("token:" + text))
	for _, tt := range []struct {
		user, token, args string
		want              string // the base64 of user:password; "": an error
	}{
		{"", "", "--token " + text, encoded},
		{"u:p", "", "--token " + text, encoded},
		{"", text, "", encoded},
		{"", text, "--user u:p", "dTpw"},
		{"u:p", text, "", ""},
		{"", "", "--user u:p --token " + text, ""},
		{"", "", "--token t", ""},
		{"", text[:49], "", ""}, // it was not copied completely
	} {
		t.Setenv("CORDWOOD_USER", tt.user)
		t.Setenv("CORDWOOD_TOKEN", tt.token)
		a := newAsked(t)
		args := append([]string{"grants", "--server", a.URL}, strings.Fields(tt.args)...)
		_, _, err := clitest.Execute(t, root(), "", args...)
		if (err == nil) != (tt.want != "") || strings.TrimPrefix(a.authorization, "Basic ") != tt.want ||
			err != nil && strings.Contains(err.Error(), text[14:40]) {
			t.Errorf("%+v: %q, %v", tt, a.authorization, err)
		}
	}
}

// TestWhoami checks what the commands print about the sender.
func TestWhoami(t *testing.T) {
	a := newAsked(t)
	a.rows = `{"user":"cw_x","auth":"token","token":"x","ingest_only":true,"grants":["INSERT ON app.web"],` +
		`"database":"app","table":"web","pipeline":""}`
	out, _, err := clitest.Execute(t, root(), "", "whoami", "--server", a.URL)
	if err != nil || !strings.Contains(out, "INSERT ON app.web") || !strings.Contains(out, "default table") ||
		strings.Contains(out, "default pipeline") {
		t.Errorf("%s %v", out, err)
	}
	for rows, want := range map[string]string{`{"allowed":[true]}`: "yes\n", `{"allowed":[false]}`: "no\n"} {
		a.rows = rows
		out, _, err := clitest.Execute(t, root(), "", "access", "check", "SELECT", "app.web", "--server", a.URL)
		if out != want || (err == nil) != (want == "yes\n") ||
			a.statement != `[{"privilege":"SELECT","object":"app.web"}]` {
			t.Errorf("%s: %q %v, asked %s", rows, out, err, a.statement)
		}
	}
}
