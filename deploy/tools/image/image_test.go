package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// program builds a small program: packing the server takes long, and its libraries are found in the
// same way.
func program(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	return "/bin/ls"
}

// texts returns a folder with licence texts.
func texts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "LIST"), []byte("a licence"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func oneImage(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("the layout lists %+v", manifest.Manifests)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestLayout(t *testing.T) {
	bin := program(t)
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	var digests []v1.Hash
	var image v1.Image
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := run(options{bin: bin, licences: texts(t), sysroot: "/", version: "1.2.3", oci: dir}); err != nil {
			t.Fatal(err)
		}
		image = oneImage(t, dir)
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("the same input gave %v", digests)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Config
	if c.User != "65532:65532" || c.Healthcheck == nil || len(c.Volumes) != 1 ||
		!slices.Equal(c.Entrypoint, []string{"/usr/bin/cordwood"}) || config.Created.Unix() != 1700000000 {
		t.Errorf("the configuration is %+v", config)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]*tar.Header{}
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewReader(r)
		for {
			h, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			headers[h.Name] = h
		}
		r.Close()
	}
	for name, mode := range map[string]int64{
		"usr/bin/cordwood": 0o755, "etc/passwd": 0o644, "etc/ssl/certs/ca-certificates.crt": 0o644,
		"usr/share/zoneinfo/Europe/Berlin": 0o644, "tmp/": 0o1777, "usr/share/doc/cordwood/licences/LIST": 0o644,
		"usr/share/doc/libc6/copyright": 0o644, "usr/share/doc/tzdata/copyright": 0o644,
		"usr/share/doc/ca-certificates/copyright": 0o644, "usr/share/common-licenses/GPL-2": 0o644,
		"data/": 0o750, "usr/lib/libc.so.6": 0o755,
	} {
		if h := headers[name]; h == nil || h.Mode != mode || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s is %+v", name, h)
		}
	}
	if h := headers["data/"]; h != nil && h.Uid != userID {
		t.Errorf("/data belongs to %d", h.Uid)
	}
	if headers["bin/sh"] != nil || headers["usr/bin/sh"] != nil {
		t.Error("the image has a shell")
	}
}

// TestRuns runs the program in a root folder with only the files of the image.
func TestRuns(t *testing.T) {
	bin := program(t)
	if server := os.Getenv("CORDWOOD_BIN"); server != "" {
		bin = server
	}
	if os.Geteuid() != 0 {
		t.Skip("chroot needs root")
	}
	dir := filepath.Join(t.TempDir(), "root")
	if err := run(options{bin: bin, licences: texts(t), sysroot: "/", rootfs: dir}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("chroot", "--userspec=65532:65532", dir, "/usr/bin/cordwood", "--help").CombinedOutput()
	if err != nil || len(out) == 0 {
		t.Errorf("in the image it does not run: %v\n%.500s", err, out)
	}
}

func TestRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{}, "-bin, -licences and one of"},
		{options{bin: text, licences: texts(t), oci: text + "2"}, "not a program for Linux"},
		{options{bin: program(t), licences: texts(t), oci: t.TempDir(), sysroot: "/"}, "exists"},
		{options{bin: program(t), licences: texts(t), oci: text + "2", sysroot: t.TempDir()}, "give -sysroot"},
	} {
		if err := run(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.o, err, c.want)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := run(options{bin: program(t), licences: texts(t), oci: text + "2"}); err == nil ||
		!strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("got %v", err)
	}
}
