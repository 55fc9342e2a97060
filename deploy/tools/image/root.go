package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// rootFS is the content of an image.
type rootFS struct {
	arch  string // Go's name of the architecture
	files []file // sorted by name, folders before their files
	// copied lists the files that were copied from a system.
	copied []copiedFile
}

// file is a file, or a folder if it has no data.
type file struct {
	name string // without a leading slash
	data []byte
	mode int64
	dir  bool
	uid  int
}

// userID is the user of the image, as in the Helm chart: 65532, the only user that owns /data.
const userID = 65532

const passwd = "root:x:0:0:root:/root:/sbin/nologin\ncordwood:x:65532:65532:cordwood:/data:/sbin/nologin\n"

// machines are the supported architectures of images.
var machines = map[elf.Machine]struct {
	arch string
	libs []string // folders of libraries, in a system and in a cross toolchain
}{
	elf.EM_X86_64: {
		"amd64", []string{
			"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64", "usr/lib64",
			"usr/x86_64-linux-gnu/lib",
		},
	},
	elf.EM_AARCH64: {
		"arm64", []string{
			"lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib64", "usr/lib64",
			"usr/aarch64-linux-gnu/lib",
		},
	},
}

// collect finds the files that the program needs at run time.
func collect(bin, sysroot, licences string) (*rootFS, error) {
	r := &rootFS{}
	data, err := os.ReadFile(bin)
	if err != nil {
		return nil, err
	}
	program, err := elf.Open(bin)
	if err != nil {
		return nil, fmt.Errorf("%s is not a program for Linux: %w", bin, err)
	}
	defer func() { _ = program.Close() }()
	machine, ok := machines[program.Machine]
	if !ok {
		return nil, fmt.Errorf("%s is for %s: there are images for amd64 and arm64", bin, program.Machine)
	}
	r.arch = machine.arch
	r.add("usr/bin/cordwood", data, 0o755)
	if err := r.addLibraries(program, sysroot, machine.libs); err != nil {
		return nil, fmt.Errorf("libraries of %s: %w", bin, err)
	}
	authorities, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		return nil, fmt.Errorf("certificates of public authorities, from the package ca-certificates: %w", err)
	}
	r.add("etc/ssl/certs/ca-certificates.crt", authorities, 0o644)
	r.copied = append(r.copied,
		copiedFile{"/", "/usr/sbin/update-ca-certificates"}, copiedFile{"/", "/usr/share/zoneinfo/UTC"})
	if err := r.addZones("/usr/share/zoneinfo"); err != nil {
		return nil, err
	}
	r.add("etc/passwd", []byte(passwd), 0o644)
	r.add("etc/group", []byte("root:x:0:\ncordwood:x:65532:\n"), 0o644)
	// Look up host names in /etc/hosts before DNS.
	r.add("etc/nsswitch.conf", []byte("hosts: files dns\n"), 0o644)
	if err := r.addLicences(licences); err != nil {
		return nil, err
	}
	if err := r.addCopyrights(); err != nil {
		return nil, err
	}
	r.finish()
	return r, nil
}

func (r *rootFS) add(name string, data []byte, mode int64) {
	r.files = append(r.files, file{name: name, data: data, mode: mode})
}

// interpreterOf returns the path of the loader of a program, or "" if the program is static.
func interpreterOf(program *elf.File) (string, error) {
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			text := make([]byte, p.Filesz)
			if _, err := p.ReadAt(text, 0); err != nil {
				return "", fmt.Errorf("read the loader's name: %w", err)
			}
			return strings.TrimRight(string(text), "\x00"), nil
		}
	}
	return "", nil
}

// addLibraries adds the loader, and all libraries that the program needs, directly or indirectly.
func (r *rootFS) addLibraries(program *elf.File, sysroot string, dirs []string) error {
	find := func(name string) (string, error) {
		for _, dir := range dirs {
			at := filepath.Join(sysroot, dir, name)
			if _, err := os.Stat(at); err == nil {
				return at, nil
			}
		}
		return "", fmt.Errorf("%s was not found in %s below %s: install it, or give -sysroot", name,
			strings.Join(dirs, ", "), sysroot)
	}
	interpreter, err := interpreterOf(program)
	if err != nil || interpreter == "" {
		return err
	}
	// Besides the linked libraries, Go and the C library open some by name at run time.
	todo, err := program.ImportedLibraries()
	if err != nil {
		return err
	}
	todo = append(todo, "libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2")
	loader := path.Base(interpreter)
	seen := map[string]bool{loader: true}
	at, err := find(loader)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	r.add(strings.TrimPrefix(interpreter, "/"), data, 0o755)
	r.copied = append(r.copied, copiedFile{sysroot, at})
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		at, err := find(name)
		if err != nil {
			return err
		}
		if data, err = os.ReadFile(at); err != nil {
			return err
		}
		// Use the loader's default folder, wherever the system keeps the library.
		r.add(path.Join("usr/lib", name), data, 0o755)
		r.copied = append(r.copied, copiedFile{sysroot, at})
		library, err := elf.Open(at)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		more, err := library.ImportedLibraries()
		_ = library.Close() // the file was only read
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		todo = append(todo, more...)
	}
	return nil
}

// addZones adds the time zones, except the alternative copies posix and right.
func (r *rootFS) addZones(dir string) error {
	err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "right" || name == "posix" {
				return filepath.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(at) // ReadFile follows links
		if err != nil {
			return err
		}
		if strings.HasPrefix(string(data), "TZif") && name != "localtime" {
			r.add(path.Join("usr/share/zoneinfo", filepath.ToSlash(name)), data, 0o644)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("time zones, from the package tzdata: %w", err)
	}
	return nil
}

// finish adds the parent folders and sorts the files.
func (r *rootFS) finish() {
	dirs := map[string]bool{}
	for _, f := range r.files {
		for d := path.Dir(f.name); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	for d := range dirs {
		r.files = append(r.files, file{name: d, mode: 0o755, dir: true})
	}
	r.files = append(r.files, file{name: "tmp", mode: 0o1777, dir: true}, file{
		name: "data", mode: 0o750, dir: true, uid: userID,
	})
	sort.Slice(r.files, func(i, j int) bool { return r.files[i].name < r.files[j].name })
	r.files = slices.CompactFunc(r.files, func(a, b file) bool { return a.name == b.name })
}

// writeTo writes the files to a folder. If it runs as root, it sets their owners.
func (r *rootFS) writeTo(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, f := range r.files {
		at := filepath.Join(dir, f.name)
		if f.dir {
			if err := os.Mkdir(at, 0o755); err != nil {
				return err
			}
		} else if err := os.WriteFile(at, f.data, os.FileMode(f.mode)); err != nil {
			return err
		}
		mode := os.FileMode(f.mode & 0o777)
		if f.mode&0o1000 != 0 {
			mode |= os.ModeSticky
		}
		if err := os.Chmod(at, mode); err != nil {
			return err
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(at, f.uid, f.uid); err != nil {
				return err
			}
		}
	}
	return nil
}
