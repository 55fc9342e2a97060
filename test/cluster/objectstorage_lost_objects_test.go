package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
)

// TestLostObjects removes, shortens and changes an object on an S3 server. The scrub of a running server and doctor
// find each fault, and none after the object was restored.
func TestLostObjects(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	url := "s3://" + name + "/prod"
	args := []string{
		"--shards", "2", "--object-storage-url", url, "--object-storage-endpoint", endpoint, "--object-storage-upload-after",
		"1s", "--object-storage-local-for", "1s", "--object-storage-cache-bytes", "64MiB", "--shard-flush-age", "1s",
		"--scrub-interval", "1s",
	}
	n := New(t, args...)
	n.Start()
	loadCold(t, n)
	b, err := bucket.Open(url, bucket.Config{S3: bucket.S3Config{Endpoint: endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	keys := []string{}
	if err := b.List(ctx, "", func(i bucket.Info) error {
		if strings.Contains(i.Key, "/data/") {
			keys = append(keys, i.Key)
		}
		return nil
	}); err != nil || len(keys) == 0 {
		t.Fatal(keys, err)
	}
	key := slices.Min(keys)
	r, err := b.Open(ctx, key, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	put := func(data []byte) {
		t.Helper()
		c := bucket.Content{Body: bytes.NewReader(data), Size: int64(len(data)), Replace: true}
		if err := b.Put(ctx, key, c); err != nil {
			t.Fatal(err)
		}
	}
	warns := func(text string) {
		t.Helper()
		Eventually(t, time.Minute, func() error {
			a, err := n.Do("GET", "/ready", nil)
			if err == nil && strings.Contains(string(a.Body), "missing or damaged") != (text != "") ||
				!strings.Contains(string(a.Body), text) {
				err = fmt.Errorf("/ready says %s, want %q", a.Body, text)
			}
			return err
		})
	}
	flipped := slices.Clone(whole)
	flipped[len(whole)/3] ^= 1
	for _, c := range []struct {
		damage func()
		want   string
	}{
		{func() {
			if err := b.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
		}, key},
		{func() { put(whole[:len(whole)-1]) }, fmt.Sprintf("it has %d bytes, want %d", len(whole)-1, len(whole))},
		{func() { put(flipped) }, "checksum"},
		{func() { put(whole) }, ""},
	} {
		c.damage()
		warns(c.want)
		n.Stop()
		out, err := exec.Command(n.bin, append([]string{"doctor", "--quiet", "--data-dir", n.Dir}, "--config",
			settingsFile(t, url, endpoint))...).CombinedOutput()
		damaged, exit := strings.Contains(string(out), "missing or damaged"), exitStatus(err)
		if damaged != (c.want != "") || !strings.Contains(string(out), c.want) || damaged && exit != 3 {
			t.Errorf("doctor: status %d, want %q:\n%s", exit, c.want, out)
		}
		n.Start()
	}
	// Without the settings, doctor says that it did not look.
	n.Stop()
	out, err := exec.Command(n.bin, "doctor", "--quiet", "--data-dir", n.Dir).CombinedOutput()
	if exitStatus(err) != 1 || !strings.Contains(string(out), "no location is set") {
		t.Errorf("doctor without settings: %v\n%s", err, out)
	}
}

// settingsFile writes a file with the location of object storage.
func settingsFile(t *testing.T, url, endpoint string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cordwood.yaml")
	text := "object-storage:\n  url: " + url + "\n  endpoint: " + endpoint + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// exitStatus returns the exit status of a command.
func exitStatus(err error) int {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}
