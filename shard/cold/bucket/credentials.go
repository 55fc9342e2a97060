package bucket

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// credentialSource is a place where credentials may be.
type credentialSource struct {
	name string
	from credentials.Provider
	// named reports whether the operator has chosen this source, so that its error is worth telling. Nil means never.
	named func() bool
}

// credentialChain takes the credentials of the first source that has both a key and a secret. Without any, requests are
// not signed. It remembers what it found, because a service answers a request without a signature like one without
// rights.
type credentialChain struct {
	sources []credentialSource

	mu    sync.Mutex // guards the rest
	used  credentials.Provider
	found string // the name of the source
	key   string // the id of the key
	// faults say why sources that the operator has chosen have none.
	faults []string
}

func newCredentialChain() *credentialChain {
	set := func(names ...string) func() bool {
		return func() bool {
			for _, name := range names {
				if os.Getenv(name) != "" {
					return true
				}
			}
			return false
		}
	}
	role := &credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport, Timeout: 5 * time.Second}}
	return &credentialChain{sources: []credentialSource{
		{"AWS_ACCESS_KEY_ID", &credentials.EnvAWS{}, set("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")},
		{"MINIO_ROOT_USER or MINIO_ACCESS_KEY", &credentials.EnvMinio{}, nil},
		{
			"the files of ~/.aws", &credentials.FileAWSCredentials{},
			set("AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"),
		},
		{
			"a web identity or the role of the machine", role,
			set("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
				"AWS_CONTAINER_CREDENTIALS_FULL_URI"),
		},
	}}
}

// RetrieveWithCredContext implements credentials.Provider.
func (c *credentialChain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.found, c.key, c.faults = nil, "", "", nil
	for _, s := range c.sources {
		v, err := s.from.RetrieveWithCredContext(cc)
		if err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			c.used, c.found, c.key = s.from, s.name, v.AccessKeyID
			return v, nil
		}
		if s.named == nil || !s.named() {
			continue
		}
		if err == nil {
			err = errors.New("it needs both a key and a secret")
		}
		c.faults = append(c.faults, s.name+": "+err.Error())
	}
	return credentials.Value{SignerType: credentials.SignatureAnonymous}, nil
}

// Retrieve implements credentials.Provider.
func (c *credentialChain) Retrieve() (credentials.Value, error) {
	return c.RetrieveWithCredContext(nil)
}

// IsExpired implements credentials.Provider.
func (c *credentialChain) IsExpired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used == nil || c.used.IsExpired()
}

// describe says which credentials the last request had. It has the id of the key only if withKey is set, because errors
// reach clients who only query rows.
func (c *credentialChain) describe(withKey bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.found != "" && withKey:
		return "key " + c.key + " of " + c.found
	case c.found != "":
		return "those of " + c.found
	}
	text := "none were found, so requests are not signed"
	if len(c.faults) > 0 {
		text += " (" + strings.Join(c.faults, "; ") + ")"
	}
	return text
}

// Credentials says which credentials the last request to b had, with the id of the key and without the secret. It is
// empty for a directory.
func Credentials(b Bucket) string {
	if s, ok := b.(*s3); ok {
		return s.credentials.describe(true)
	}
	return ""
}
