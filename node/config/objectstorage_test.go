package config

import (
	"strings"
	"testing"
	"time"
)

// TestObjectStorage reads the settings of object storage from a file, and looks at the texts of faults.
func TestObjectStorage(t *testing.T) {
	file := "object-storage:\n  url: s3://logs/prod\n  endpoint: http://127.0.0.1:9000\n  cache-bytes: 1GiB\n" +
		"  upload-after: 10m\n"
	c, _, err := loadArgs(t, file, map[string]string{"CORDWOOD_OBJECT_STORAGE_REGION": "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	o := &c.Objects
	if err := c.Validate(); err != nil || o.S3.Region != "eu-west-1" || o.S3.Endpoint != "http://127.0.0.1:9000" ||
		o.CacheBytes != 1<<30 || o.UploadAfter != 10*time.Minute || o.UploadBytes != 256<<20 ||
		o.LocalFor != 24*time.Hour {
		t.Errorf("%+v, %v", o, err)
	}
	if b, err := o.Open(); err != nil || b.Location() != "s3://logs/prod" {
		t.Errorf("it opens %v, %v", b, err)
	}
	for _, x := range []struct{ args, want string }{
		{"", ""},
		{"--object-storage-url=file:///mnt/logs --object-storage-cache-bytes=64MiB", ""},
		{"--roles=router --seeds=a:1 --object-storage-url=s3://logs/prod", ""},
		{"--object-storage-region=x", "--object-storage-region has no effect without --object-storage-url"},
		{"--object-storage-cache-dir=x", "--object-storage-cache-dir has no effect without --object-storage-url"},
		{"--object-storage-upload-after=1m", "--object-storage-upload-after has no effect without --object-storage-url"},
		{"--object-storage-upload-bytes=1MiB", "--object-storage-upload-bytes has no effect without --object-storage-url"},
		{"--object-storage-url=s3://logs --object-storage-sse=kms:key", ""},
		{"--object-storage-sse=s3", "--object-storage-sse has no effect without --object-storage-url"},
		{"--object-storage-url=s3://logs --object-storage-sse=aes", `--object-storage-sse: encryption of objects "aes":`},
		{"--object-storage-url=file:///mnt --object-storage-sse=s3", "only a location with s3:// encrypts objects"},
		{"--object-storage-url=s3://logs/prod?region=x", "a location has no parameters"},
		{"--object-storage-url=logs", "--object-storage-url logs: want s3://BUCKET/PREFIX or file:///DIRECTORY"},
		{"--object-storage-url=file://logs", "--object-storage-url file://logs: want s3://"},
		{"--object-storage-url=gs://logs", `unknown scheme "gs"`},
		{"--object-storage-url=s3://key:secret@logs/prod", "give credentials by the environment"},
		{"--object-storage-url=s3://logs --object-storage-endpoint=ftp://x", "--object-storage-endpoint: S3 endpoint ftp:"},
		{"--object-storage-url=s3://logs --object-storage-cache-bytes=1MiB", "cache-bytes 1MiB: want at least 64MiB, or 0"},
		{"--object-storage-url=s3://logs --object-storage-upload-bytes=1KiB", "upload-bytes 1KiB: want at least 1MiB"},
		{"--object-storage-url=s3://logs --object-storage-upload-rate=1KiB", "upload-rate 1KiB: want at least 1MiB, or 0"},
		{"--object-storage-iceberg-every=1m", "--object-storage-iceberg-every has no effect without --object-storage-url"},
		{"--object-storage-upload-rate=1MiB", "--object-storage-upload-rate has no effect without --object-storage-url"},
		{"--object-storage-log=10s", "--object-storage-log has no effect without --object-storage-url"},
		{"--object-storage-url=s3://logs --object-storage-log=10s", ""},
		{"--object-storage-url=s3://logs --object-storage-log=10ms", "--object-storage-log 10ms: want at least 1s, or 0"},
		{"--object-storage-url=s3://logs --object-storage-local-for=-1s", "local-for -1s: want a positive duration, or 0"},
		{"--object-storage-url=s3://logs --object-storage-upload-after=0s", "upload-after 0s: want at least 1s"},
	} {
		c, _, err := loadArgs(t, "", nil, strings.Fields(x.args)...)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Validate()
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s: %v, want %q", x.args, err, x.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: the error shows a password: %v", x.args, err)
		}
	}
}
