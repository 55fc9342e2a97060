package statement

import (
	"strings"
	"testing"
)

// TestSecretsAreHidden writes a secret in every way that the parser reads or refuses.
func TestSecretsAreHidden(t *testing.T) {
	for in, want := range map[string]string{
		"CREATE USER u PASSWORD 'hush' DISABLED":                "CREATE USER u PASSWORD '…' DISABLED",
		"CREATE USER u PASSWORD /* it's */ 'hush'":              "CREATE USER u PASSWORD /* it's */ '…'",
		"CREATE USER u PASSWORD/*/**/'*/'hu''sh' DISABLED":      "CREATE USER u PASSWORD/*/**/'*/'…' DISABLED",
		"CREATE USER u PASSWORD --'\n'hush'":                    "CREATE USER u PASSWORD --'\n'…'",
		"CREATE USER u PASSWORD\v'hush'":                        "CREATE USER u PASSWORD\v'…'",
		"CREATE USER u PASSWORD \u00a0'hush'":                   "CREATE USER u PASSWORD \u00a0'…'",
		"CREATE USER u PASSWORD e'\\'hush'":                     "CREATE USER u PASSWORD '…'",
		"CREATE USER u PASSWORD $$hush$$":                       "CREATE USER u PASSWORD '…'",
		"CREATE USER u PASSWORD 'hush":                          "CREATE USER u PASSWORD '…'",
		`ALTER USER "password '" PASSWORD 'hush'`:               `ALTER USER "password '" PASSWORD '…'`,
		"ALTER USER CURRENT_USER PASSWORD 'hush' OLD--\r'hush'": "ALTER USER CURRENT_USER PASSWORD '…' OLD--\r'…'",
		"ALTER TABLE t SET 'secret_key' = /**/ 'hush', 'b'='c'": "ALTER TABLE t SET 'secret_key' = /**/ '…', 'b'='c'",
		"CREATE TOKEN token FOR USER u EXPIRES '2030-01-01'":    "CREATE TOKEN token FOR USER u EXPIRES '2030-01-01'",
		"CREATE USER u PASSWORD /* cut":                         "CREATE USER u PASSWORD '…'",
		"":                                                      "",
	} {
		if got := HideSecrets(in); got != want || strings.Contains(got, "hush") {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestCommentsAreRemoved checks that only comments and white space between words are removed.
func TestCommentsAreRemoved(t *testing.T) {
	for in, want := range map[string]string{
		"GRANT /* xxx /* nested */ */ admin\n\tTO a,b -- end":     "GRANT admin TO a,b",
		"CREATE USER u PASSWORD/**/'a  b /* c */' -- d\nDISABLED": "CREATE USER u PASSWORD 'a  b /* c */' DISABLED",
		`SELECT "a  --b" , $$ /* */ $$::text`:                     `SELECT "a  --b" , $$ /* */ $$::text`,
		"DROP TABLE t /* open":                                    "DROP TABLE t /* open",
		"  -- nothing":                                            "",
	} {
		if got := WithoutComments(in, 1000); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := WithoutComments("aaaa bbbb"+strings.Repeat("c", 100)+" dddd", 7); !strings.HasPrefix(got, "aaaa bb") ||
		strings.Contains(got, "d") {
		t.Errorf("%q", got)
	}
}
