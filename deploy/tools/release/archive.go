package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fromRepo lists the files of the repository that an archive contains, by pattern, and their folders
// in the archive.
var fromRepo = []struct{ pattern, to string }{
	{"LICENSE", ""},
	{"README.md", ""},
	{"CHANGELOG.md", ""},
	{"docs/*", "docs"},
	{"deploy/systemd/*", "systemd"},
	{"deploy/examples/three-machines/*", "examples/three-machines"},
	{"deploy/prometheus/*", "prometheus"},
	{"deploy/grafana/*", "grafana"},
}

// shells lists the shells with completions, and the names of the completion files.
var shells = []struct{ name, file string }{
	{"bash", "cordwood.bash"}, {"fish", "cordwood.fish"}, {"zsh", "_cordwood"}, {"powershell", "cordwood.ps1"},
}

// archiveFiles returns all files of the archive, except the SBOM.
func archiveFiles(o options, c *content) ([]file, error) {
	program, err := os.ReadFile(o.bin)
	if err != nil {
		return nil, err
	}
	files := []file{{name: "cordwood", data: program, mode: 0o755}}
	for _, from := range fromRepo {
		found, err := filepath.Glob(filepath.Join(o.repo, from.pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no %s", o.repo, from.pattern)
		}
		for _, at := range found {
			info, err := os.Stat(at)
			if err != nil {
				return nil, err
			}
			if info.IsDir() || strings.HasSuffix(at, "_test.yaml") {
				continue
			}
			data, err := os.ReadFile(at)
			if err != nil {
				return nil, err
			}
			files = append(files, file{name: path.Join(from.to, filepath.Base(at)), data: data, mode: 0o644})
		}
	}
	bin, err := filepath.Abs(o.runs)
	if err != nil {
		return nil, err
	}
	for _, shell := range shells {
		text, err := output(".", bin, "completion", shell.name)
		if err != nil {
			return nil, fmt.Errorf("completions of %s: %w", shell.name, err)
		}
		files = append(files, file{name: path.Join("completions", shell.file), data: text, mode: 0o644})
	}
	for _, f := range c.licenceFiles() {
		f.name = path.Join("licences", f.name)
		files = append(files, f)
	}
	return files, nil
}

// writeArchive writes a .tar.gz whose files are in one folder.
func writeArchive(at, folder string, files []file, made time.Time) error {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	files = slices.Clone(files)
	dirs := map[string]bool{}
	for _, f := range files {
		for d := path.Dir(f.name); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	for d := range dirs {
		files = append(files, file{name: d + "/"})
	}
	files = append(files, file{})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		h := &tar.Header{
			Name: folder + "/" + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: made, Typeflag: tar.TypeReg,
			Format: tar.FormatPAX,
		}
		if f.name == "" || strings.HasSuffix(f.name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return os.WriteFile(at, out.Bytes(), 0o644)
}

// writeFolder replaces the content of a folder by the given files.
func writeFolder(dir string, files []file) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, f := range files {
		at := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, f.data, os.FileMode(f.mode)); err != nil {
			return err
		}
	}
	return nil
}

// writeSums writes SHA256SUMS in the format of sha256sum.
func writeSums(dir string) error {
	var out bytes.Buffer
	var names []string
	for _, pattern := range []string{"*.tar.gz", "*.cdx.json"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no archive", dir)
	}
	slices.Sort(names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(data), filepath.Base(name))
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), out.Bytes(), 0o644)
}
