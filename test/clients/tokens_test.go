package clients

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
)

// asRoot adds the password of root to requests.
type asRoot struct{}

func (asRoot) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth("root", "pw")
	return http.DefaultTransport.RoundTrip(r)
}

// withToken is a client that sends a token where its users configure credentials.
type withToken struct {
	name, table string
	send        func(s *server, j job, token string) error
}

// tokenHeaders are the headers of OpenTelemetry's exporters.
func tokenHeaders(token string) map[string]string {
	return map[string]string{"x-svc-log-table-name": "records", "Authorization": "Bearer " + token}
}

var tokenClients = []withToken{
	{"otlploggrpc", "records", func(s *server, j job, token string) error {
		return byGRPC(tokenHeaders(token))(s, j)
	}},
	{"otlploghttp", "records", func(s *server, j job, token string) error {
		ctx := context.WithoutCancel(s.t.Context())
		exporter, err := otlploghttp.New(ctx, otlploghttp.WithEndpoint(s.otlp), otlploghttp.WithInsecure(),
			otlploghttp.WithTimeout(time.Minute), otlploghttp.WithHeaders(tokenHeaders(token)))
		if err != nil {
			return err
		}
		return emit(ctx, exporter, j)
	}},
}

// TestTokens sends records with a token that may store rows in one table only, in the place where each client takes
// credentials. With the token of another table, or after the token was dropped, no row is stored.
func TestTokens(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("root=pw\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const each = 100
	for i, c := range tokenClients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := prepare(t)
			other := slices.Index(s.args, "--syslog-addr") // from there on, ports that need a token-file
			s.args = append(slices.Clone(s.args[:other]), "--user-file", users)
			s.web = &http.Client{Transport: asRoot{}}
			s.run()
			create := func(name, table string) string {
				row, err := s.query(fmt.Sprintf("CREATE TOKEN %s FOR INGEST INTO public.%s", name, table))
				if err != nil || len(row) != 4 {
					t.Fatal(row, err)
				}
				return row[2]
			}
			token, wrong := create("right", c.table), create("other", "elsewhere")
			if err := c.send(s, job{first: i * each, last: (i + 1) * each}, token); err != nil {
				t.Fatal(err)
			}
			count := "SELECT count(*) FROM " + c.table
			s.await(count, strconv.Itoa(each))
			// The exporters give up records that are refused, and may or may not report it.
			_ = c.send(s, job{first: 0, last: 10}, wrong)
			if _, err := s.query("DROP TOKEN right"); err != nil {
				t.Fatal(err)
			}
			_ = c.send(s, job{first: 0, last: 10}, token)
			if row, err := s.query(count); err != nil || row[0] != strconv.Itoa(each) {
				t.Errorf("rows with a wrong or dropped token: %v %v", row, err)
			}
		})
	}
}
