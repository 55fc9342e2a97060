package bucket

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdvice looks at the texts of errors whose cause is a setting: credentials, the region, the endpoint.
func TestAdvice(t *testing.T) {
	home := t.TempDir()
	profiles := filepath.Join(home, "credentials")
	text := "[default]\naws_access_key_id = filekey\naws_secret_access_key = canary\n"
	if err := os.WriteFile(profiles, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const denied = `<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>`
	region := `<Error><Code>AuthorizationHeaderMalformed</Code>` +
		`<Message>The region "us-east-1" is wrong; expecting "eu-west-1".</Message></Error>`
	for name, c := range map[string]struct {
		env    map[string]string
		status int
		body   string
		want   []string
	}{
		"no credentials": {
			status: 403, body: denied,
			want: []string{"Access Denied: check the credentials", "none were found, so requests are not signed"},
		},
		"half": {
			env: map[string]string{"AWS_ACCESS_KEY_ID": "envkey"}, status: 403, body: denied,
			want: []string{"not signed", "AWS_ACCESS_KEY_ID: it needs both a key and a secret"},
		},
		"no such profile": {
			env: map[string]string{"AWS_PROFILE": "nope", "AWS_SHARED_CREDENTIALS_FILE": profiles}, status: 403, body: denied,
			want: []string{"not signed", "the files of ~/.aws: ", `"nope"`},
		},
		"environment": {
			env: map[string]string{"AWS_ACCESS_KEY_ID": "envkey", "AWS_SECRET_ACCESS_KEY": "canary"}, status: 403, body: denied,
			want: []string{"Credentials: those of AWS_ACCESS_KEY_ID"},
		},
		"file": {
			env: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": profiles}, status: 403, body: denied,
			want: []string{"Credentials: those of the files of ~/.aws"},
		},
		"region": {
			env: map[string]string{"AWS_ACCESS_KEY_ID": "envkey", "AWS_SECRET_ACCESS_KEY": "canary"}, status: 400, body: region,
			want: []string{`expecting "eu-west-1": set the region of the bucket with --region`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range os.Environ() {
				if n, _, _ := strings.Cut(v, "="); strings.HasPrefix(n, "AWS_") || strings.HasPrefix(n, "MINIO_") {
					t.Setenv(n, "")
				}
			}
			t.Setenv("HOME", home)
			// The role of the machine is asked for at an address where nothing answers.
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
			for n, v := range c.env {
				t.Setenv(n, v)
			}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body)) // the client notices what is missing
			}))
			defer srv.Close()
			b, err := Open("s3://logs/prod", Config{S3: S3Config{Endpoint: srv.URL, Region: "us-east-1"}})
			if err != nil {
				t.Fatal(err)
			}
			err = b.Put(wait(t), "key", content([]byte("text")))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "envkey") {
				t.Errorf("the error has the key or the secret: %v", err)
			}
		})
	}
}

// TestHTTPS gives an endpoint without a scheme, for which TLS is used, to a service without TLS.
func TestHTTPS(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	b, err := Open("s3://logs/prod", Config{S3: S3Config{Endpoint: host, Region: "us-east-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = b.Head(wait(t), "key"); err == nil || !strings.Contains(err.Error(), "give the endpoint as "+srv.URL) {
		t.Errorf("the error is %v", err)
	}
}
