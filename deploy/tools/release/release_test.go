package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func TestKinds(t *testing.T) {
	for name, want := range map[string]string{
		"LICENSE":                                   "Apache-2.0",
		"deploy/licences/native/zstd/LICENSE":       "BSD-3-Clause",
		"router/web/vendor/licences/preact/LICENSE": "MIT",
		"router/web/vendor/licences/@fontsource/ibm-plex-mono/LICENSE": "OFL-1.1",
		"deploy/licences/native/duckdb/LICENSE":                        "MIT",
		"deploy/licences/native/duckdb/icu/LICENSE":                    "Unicode-DFS-2016",
		"deploy/licences/native/duckdb/lz4/LICENSE":                    "BSD-2-Clause",
		"deploy/licences/native/duckdb/ska_sort/LICENSE":               "BSL-1.0",
		"README.md": "",
	} {
		text, err := os.ReadFile(filepath.Join("../../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := kindOf(text); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestLicenceTexts(t *testing.T) {
	dir := t.TempDir()
	mit := "Permission is hereby granted, free of charge, to any person obtaining … The above copyright notice and " +
		"this permission notice"
	for name, text := range map[string]string{
		"LICENSE": mit, "sub/COPYING.txt": "x", "testdata/LICENSE": "x", "license.go": "package x", "README": "x",
		".git/NOTICE": "x",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	texts, err := licenceTexts(dir)
	if err != nil || len(texts) != 2 || texts[0].name != "LICENSE" || texts[1].name != "sub/COPYING.txt" {
		t.Errorf("%v %v", texts, err)
	}
	if _, err := licenceTexts(filepath.Join(dir, "sub")); err == nil ||
		!strings.Contains(err.Error(), "no known licence text") {
		t.Errorf("a module without a known licence: %v", err)
	}
	if _, err := licenceTexts(""); err == nil {
		t.Error("a module that is nowhere")
	}
}

// TestContent reads the parts of the test binary.
func TestContent(t *testing.T) {
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := contents(bin, "../../..")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(c.parts, func(p part) bool { return p.name == "github.com/CycloneDX/cyclonedx-go" })
	if i < 0 || !slices.Contains(c.parts[i].licences(), "Apache-2.0") || !strings.HasPrefix(c.parts[i].sum, "h1:") {
		t.Fatalf("%+v", c.parts)
	}
	made := time.Unix(1700000000, 0).UTC()
	sbom, err := c.sbom("1.2.3", made)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := c.sbom("1.2.3", made)
	other, _ := c.sbom("1.2.4", made)
	if !bytes.Equal(sbom, again) || bytes.Equal(sbom, other) {
		t.Error("the SBOM differs for the same input, or is the same for another")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(sbom), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != cdx.SpecVersion1_6 || bom.Metadata.Component.Version != "1.2.3" ||
		len(*bom.Components) != len(c.parts) {
		t.Errorf("%s", sbom)
	}
	for _, component := range *bom.Components {
		if component.Licenses == nil || len(*component.Licenses) == 0 || component.PackageURL == "" ||
			component.Version == "" {
			t.Errorf("%s %s: %s has no licence, or no address", component.Name, component.Version, component.PackageURL)
		}
	}
	if files := c.licenceFiles(); files[len(files)-1].name != "LIST" ||
		!strings.Contains(string(files[len(files)-1].data), "cyclonedx-go v") {
		t.Errorf("the list of licences is %s", files[len(files)-1].data)
	}
}

func TestArchive(t *testing.T) {
	dir := t.TempDir()
	made := time.Unix(1700000000, 0).UTC()
	files := []file{{"b/c", []byte("text"), 0o644}, {"a", []byte("program"), 0o755}}
	for _, name := range []string{"x.tar.gz", "y.tar.gz"} {
		if err := writeArchive(filepath.Join(dir, name), "top", files, made); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(files)
	}
	x, _ := os.ReadFile(filepath.Join(dir, "x.tar.gz"))
	y, _ := os.ReadFile(filepath.Join(dir, "y.tar.gz"))
	if !bytes.Equal(x, y) {
		t.Error("the order of files changes the bytes")
	}
	zip, err := gzip.NewReader(bytes.NewReader(x))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(made) || h.Uid != 0 {
			t.Errorf("%s is of %s, of user %d", h.Name, h.ModTime, h.Uid)
		}
		got = append(got, fmt.Sprintf("%s %o", h.Name, h.Mode))
	}
	if want := []string{"top/ 755", "top/a 755", "top/b/ 755", "top/b/c 644"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := run(options{sums: dir}); err != nil {
		t.Fatal(err)
	}
	sums, _ := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if want := fmt.Sprintf("%x  x.tar.gz\n%x  y.tar.gz\n", sha256.Sum256(x), sha256.Sum256(y)); string(sums) != want {
		t.Errorf("%s, want %s", sums, want)
	}
	for _, o := range []options{
		{}, {bin: "x"}, {sums: t.TempDir()}, {bin: filepath.Join(dir, "x.tar.gz"), licences: dir},
	} {
		if run(o) == nil {
			t.Errorf("%+v was done", o)
		}
	}
}
