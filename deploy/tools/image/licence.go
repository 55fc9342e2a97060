package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// addLicences adds the licence texts of the libraries that are linked into the program.
func (r *rootFS) addLicences(dir string) error {
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		r.add(path.Join("usr/share/doc/cordwood/licences", filepath.ToSlash(name)), data, 0o644)
		return nil
	})
	if err != nil {
		return fmt.Errorf("licence texts, which ./release writes: %w", err)
	}
	return nil
}

// copiedFile is a file that was copied into the image; root is the root of the system that it came from.
type copiedFile struct{ root, at string }

// addCopyrights adds the copyright texts of the Debian packages that own the copied files.
func (r *rootFS) addCopyrights() error {
	seen := map[string]bool{}
	for _, f := range r.copied {
		name, err := packageOf(f)
		if err != nil {
			return err
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		at := path.Join("usr/share/doc", name, "copyright")
		data, err := os.ReadFile(filepath.Join(f.root, at))
		if err != nil {
			return fmt.Errorf("licence of the package %s: %w: its text may not be installed (path-exclude in "+
				"/etc/dpkg)", name, err)
		}
		r.add(at, data, 0o644)
		for _, common := range commonLicences(data) {
			text, err := os.ReadFile(filepath.Join(f.root, common)) // ReadFile follows the link to the newest version
			if errors.Is(err, fs.ErrNotExist) || seen[common] {
				continue // texts also refer to licences that are not installed
			}
			if err != nil {
				return err
			}
			seen[common] = true
			r.add(strings.TrimPrefix(common, "/"), text, 0o644)
		}
	}
	return nil
}

// commonLicences returns the files of complete licences to which a copyright text refers.
func commonLicences(text []byte) []string {
	const folder = "/usr/share/common-licenses/"
	var out []string
	for _, part := range strings.Split(string(text), folder)[1:] {
		name := part
		if end := strings.IndexFunc(part, func(c rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.+", c)
		}); end >= 0 {
			name = part[:end]
		}
		if name = folder + strings.TrimRight(name, ".-"); name != folder && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// packageOf returns the Debian package that owns a file. dpkg may know the file by a path with or
// without /usr, because /lib is a link to /usr/lib.
func packageOf(f copiedFile) (string, error) {
	target, err := filepath.EvalSymlinks(f.at)
	if err != nil {
		return "", err
	}
	for _, at := range []string{f.at, target} {
		name := filepath.Join("/", strings.TrimPrefix(at, filepath.Clean(f.root)))
		for _, name := range []string{name, strings.TrimPrefix(name, "/usr"), "/usr" + name} {
			out, err := exec.Command("dpkg-query", "--admindir="+filepath.Join(f.root, "var/lib/dpkg"), "--search",
				name).Output()
			if err != nil {
				continue
			}
			first, _, _ := strings.Cut(string(out), ": ")
			first, _, _ = strings.Cut(first, ",")
			first, _, _ = strings.Cut(first, ":")
			return first, nil
		}
	}
	return "", fmt.Errorf("dpkg-query finds no package with %s, so its licence is unknown: make images on "+
		"Debian, from its packages", f.at)
}
