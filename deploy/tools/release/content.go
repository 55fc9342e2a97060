package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// file is a file of an archive or a folder.
type file struct {
	name string // with slashes
	data []byte
	mode int64
}

// content is the list of the parts of a program.
type content struct {
	os, arch string
	parts    []part // by name
}

// part is a linked library, with its licence texts.
type part struct {
	name, version string
	sum           string // of a Go module: h1:…
	kind          partKind
	texts         []file
}

type partKind int

const (
	goModule partKind = iota
	goItself
	native
	ofPage
)

// natives are the linked C libraries, by the Go module that contains
// them. Their licence texts are in deploy/licences/native.
var natives = []struct{ module, name, version string }{
	{"github.com/duckdb/duckdb-go-bindings", "duckdb", "1.5.5"},
	{"github.com/valyala/gozstd", "zstd", "1.5.7"},
}

// platformOf returns the operating system and the processor for which a program was built.
func platformOf(info *buildinfo.BuildInfo) (goos, arch string) {
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			goos = s.Value
		case "GOARCH":
			arch = s.Value
		}
	}
	return goos, arch
}

// contents reads the parts of a program from its binary, and finds all licence texts. A part without
// one is an error.
func contents(bin, repo string) (*content, error) {
	info, err := buildinfo.ReadFile(bin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bin, err)
	}
	c := &content{}
	c.os, c.arch = platformOf(info)
	var modules []string
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, m.Path+"@"+m.Version)
		c.parts = append(c.parts, part{name: m.Path, version: m.Version, sum: m.Sum, kind: goModule})
	}
	folders, err := moduleFolders(repo, modules)
	if err != nil {
		return nil, err
	}
	for i := range c.parts {
		p := &c.parts[i]
		if p.texts, err = licenceTexts(folders[p.name+"@"+p.version]); err != nil {
			return nil, fmt.Errorf("licence of %s: %w", p.name, err)
		}
	}
	root, err := output(repo, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	license, err := goLicence(strings.TrimSpace(string(root)))
	if err != nil {
		return nil, fmt.Errorf("licence of Go: %w", err)
	}
	c.parts = append(c.parts, part{
		name: "go", version: info.GoVersion, kind: goItself, texts: []file{{name: "LICENSE", data: license}},
	})
	for _, n := range natives {
		if !slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == n.module }) {
			continue
		}
		texts, err := licenceTexts(filepath.Join(repo, "deploy/licences/native", n.name))
		if err != nil {
			return nil, fmt.Errorf("licence of %s: %w", n.name, err)
		}
		c.parts = append(c.parts, part{name: n.name, version: n.version, kind: native, texts: texts})
	}
	page, err := pageParts(filepath.Join(repo, "router/web/vendor"))
	if err != nil {
		return nil, err
	}
	c.parts = append(c.parts, page...)
	slices.SortFunc(c.parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return c, nil
}

// pageParts returns the libraries and fonts of the web page, which the program contains as files.
// VERSIONS has a line for each; the licence texts are next to it.
func pageParts(vendor string) ([]part, error) {
	list, err := os.ReadFile(filepath.Join(vendor, "VERSIONS"))
	if err != nil {
		return nil, fmt.Errorf("libraries of the page: %w", err)
	}
	var parts []part
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, fmt.Errorf("libraries of the page: %q is not a name, a version and a licence", line)
		}
		texts, err := licenceTexts(filepath.Join(vendor, "licences", words[0]))
		if err != nil {
			return nil, fmt.Errorf("licence of %s: %w", words[0], err)
		}
		parts = append(parts, part{name: words[0], version: words[1], kind: ofPage, texts: texts})
	}
	return parts, nil
}

// goLicence returns the licence of Go, which Debian's package has in another place.
func goLicence(root string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if errors.Is(err, fs.ErrNotExist) {
		return os.ReadFile(filepath.Join(root, "..", "LICENSE"))
	}
	return data, err
}

func output(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, args[0], err, stderr.String())
	}
	return out, nil
}

// moduleFolders returns the folders of modules, by path@version.
func moduleFolders(repo string, modules []string) (map[string]string, error) {
	folders := map[string]string{}
	if len(modules) == 0 {
		return folders, nil
	}
	out, err := output(repo, "go", append([]string{"mod", "download", "-json"}, modules...)...)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var m struct{ Path, Version, Dir string }
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return folders, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the output of go mod download: %w", err)
		}
		folders[m.Path+"@"+m.Version] = m.Dir
	}
}

// licenceName matches the names of licence files.
var licenceName = regexp.MustCompile(`(?i)^(un)?licen[cs]es?([-._].*)?$|^(copying|notices?|patents)([-._].*)?$`)

// maxLicence is the maximum size of a licence text, in bytes.
const maxLicence = 1 << 20

// licenceTexts returns the licence texts in a folder and its subfolders, except test data and
// programs. The folder itself must contain one.
func licenceTexts(dir string) ([]file, error) {
	if dir == "" {
		return nil, errors.New("its folder is unknown")
	}
	var texts []file
	top := false
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); at != dir && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !licenceName.MatchString(d.Name()) ||
			slices.Contains([]string{".go", ".py", ".sh", ".json", ".c", ".h"}, path.Ext(d.Name())) {
			return nil
		}
		data, err := os.ReadFile(at)
		if err != nil || len(data) > maxLicence {
			return err
		}
		rel, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		top = top || filepath.Dir(at) == dir && kindOf(data) != ""
		texts = append(texts, file{name: filepath.ToSlash(rel), data: data, mode: 0o644})
		return nil
	})
	if err == nil && !top {
		err = fmt.Errorf("%s has no known licence text: find it, and add it to deploy/tools/release", dir)
	}
	return texts, err
}

// licenceFiles returns all licence texts, in a folder for each part, and a list of the parts.
func (c *content) licenceFiles() []file {
	var out []file
	var list strings.Builder
	list.WriteString("What is linked into cordwood, and under which licences. The texts are in the folders.\n\n")
	for _, p := range c.parts {
		folder := strings.ReplaceAll(p.name, "/", "_") + "@" + p.version
		fmt.Fprintf(&list, "%-70s %s\n", p.name+" "+p.version, strings.Join(p.licences(), ", "))
		for _, t := range p.texts {
			out = append(out, file{name: path.Join(folder, t.name), data: t.data, mode: 0o644})
		}
	}
	return append(out, file{name: "LIST", data: []byte(list.String()), mode: 0o644})
}
