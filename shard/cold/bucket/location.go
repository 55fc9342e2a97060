package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// Config describes how to reach a bucket.
type Config struct {
	S3 S3Config
}

// Open returns the bucket at a location: s3://BUCKET/PREFIX, file:///DIRECTORY, or a directory. It does not connect,
// and creates no files.
func Open(location string, cfg Config) (Bucket, error) {
	return open(location, cfg, "a directory, file:///DIRECTORY or s3://BUCKET/PREFIX")
}

// OpenURL is Open for a location that all nodes of a cluster share: s3://BUCKET/PREFIX or file:///DIRECTORY.
func OpenURL(location string, cfg Config) (Bucket, error) {
	const want = "s3://BUCKET/PREFIX or file:///DIRECTORY"
	b, err := open(location, cfg, want)
	if err != nil {
		return nil, err
	}
	if d, ok := b.(*Dir); ok && (!strings.HasPrefix(location, "file://") || !filepath.IsAbs(d.Location())) {
		return nil, fmt.Errorf("%s: want %s", location, want)
	}
	return b, nil
}

func open(location string, cfg Config, want string) (Bucket, error) {
	scheme, rest, found := strings.Cut(location, "://")
	before, _, colon := strings.Cut(location, ":/")
	switch {
	case location == "":
		return nil, errors.New("no location is set: give " + want)
	case !found && (colon && !strings.Contains(before, "/") || strings.HasPrefix(location, "s3//")):
		return nil, fmt.Errorf("%s: want %s, with two slashes after the colon", location, want)
	case !found:
		return NewDir(location), nil
	case scheme == "file" && rest == "":
		return nil, errors.New("file:// has no directory: give file:///DIRECTORY")
	case scheme == "file":
		return NewDir(rest), nil
	case scheme == "http" || scheme == "https":
		return nil, fmt.Errorf("%s is the address of a service: want %s, and the address as the endpoint", redact(location),
			want)
	case scheme != "s3":
		return nil, fmt.Errorf("%s: unknown scheme %q; give %s", redact(location), scheme, want)
	}
	name, prefix, _ := strings.Cut(rest, "/")
	switch {
	case strings.ContainsAny(rest, "?#"):
		return nil, fmt.Errorf("%s: a location has no parameters: want s3://BUCKET/PREFIX, and the region and the endpoint "+
			"by flags or the environment", redact(location))
	case strings.Contains(name, "@"):
		return nil, fmt.Errorf("%s: a location has no credentials: want s3://BUCKET/PREFIX, and give credentials by the "+
			"environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", redact(location))
	case name == "" || strings.Contains(name, ":"):
		return nil, fmt.Errorf("%s: want s3://BUCKET/PREFIX", redact(location))
	}
	if prefix = strings.Trim(path.Clean("/"+prefix), "/"); prefix != "" {
		prefix += "/"
	}
	return openS3(name, prefix, cfg.S3)
}

// redact returns a location without the parts that may be a password.
func redact(location string) string {
	location, _, query := strings.Cut(location, "?")
	if query {
		location += "?…"
	}
	if !strings.Contains(location, "@") {
		return location
	}
	u, err := url.Parse(location)
	if err != nil {
		return "(a location that is not a URL)"
	}
	return u.Redacted()
}
