// Package doctor checks a node: its settings, its machine, and a running server, or the data folder of a stopped
// server, which it reads completely. It reports what is wrong and what to do.
//
// Run changes nothing except what Config.Forget requests. In object storage it tries to store an object with a wrong
// checksum. It reads logs, databases, manifests, segments, snapshots
// and the identity with the checks of the packages that write them, which also determine the files that should exist.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cordwood/meta"
	"cordwood/node"
	"cordwood/node/config"
	"cordwood/node/marks"
	"cordwood/node/secret"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/replica/raftlog"
)

// Config configures Run.
type Config struct {
	DataDir string
	// Forget lists segment files, as shards/1/segments/NAME.parquet, whose rows are given up. Each
	// must be damaged.
	Forget []string
	// Progress, if not nil, is called with the file that is read, the number of bytes read so far, and the number of
	// all bytes.
	Progress func(file string, done, total int64)

	// Settings are the settings with which the server is started, and SettingsErr is the error in them. If neither is
	// set, settings are not checked.
	Settings    *config.Config
	SettingsErr error
	// Server is checked if it uses the data folder, or if AskServer is set. It may be nil.
	Server    Server
	AskServer bool
	// ServerOnly limits the check to the server: no settings, machine or data folder.
	ServerOnly bool
	// Version is the version of this program.
	Version string
}

// doctor is the state of a run.
type doctor struct {
	ctx    context.Context //nolint:containedctx // a doctor is one call of Run
	cfg    Config
	part   string // the part that is checked
	folder *node.Offline
	report *Report
	known  map[string]bool // files that were checked, relative to the folder
	total  int64
	// storage is object storage; nil before the first object was checked.
	storage *bucket.Guard
	// storageFailed means that object storage does not answer.
	storageFailed bool
}

// Run runs all checks that are possible. It returns an error if no check is possible, or if files of Forget cannot be
// removed.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	d := &doctor{
		ctx: ctx, cfg: cfg, report: &Report{DataDir: cfg.DataDir, Parts: []Part{}, Findings: []Finding{}},
		known: map[string]bool{"LOCK": true},
	}
	if cfg.ServerOnly {
		d.server(ctx)
		d.finish()
		return d.report, nil
	}
	d.settings()
	d.machine()
	if what, do := noDataFolder(cfg.DataDir); what != "" {
		if len(cfg.Forget) > 0 {
			return nil, fmt.Errorf("%s: %s", what, do)
		}
		d.part = "data"
		d.find(Attention, "", do, "%s", what)
		if cfg.AskServer {
			d.server(ctx)
		}
		d.finish()
		return d.report, nil
	}
	folder, err := node.OpenOffline(cfg.DataDir)
	inUse, missing := errors.Is(err, node.ErrInUse), errors.Is(err, fs.ErrNotExist) && folder == nil
	switch {
	case folder != nil:
		defer func() { _ = folder.Close() }() // it only unlocks the folder
		d.ports()
		d.folder = folder
		d.seeds(ctx)
		if err := d.data(err); err != nil {
			return nil, err
		}
	case len(cfg.Forget) > 0 || !inUse && !missing:
		return nil, err
	case missing:
		d.ports()
		d.seeds(ctx)
		d.part = "data"
		d.find(Attention, "", "give it by --data-dir if a server has run here", "there is no data folder %s", cfg.DataDir)
	default:
		d.part = "data"
		d.find(Note, "", "stop the server and run this again to check every byte",
			"a running server uses %s: its files were not read", cfg.DataDir)
	}
	if inUse || cfg.AskServer {
		d.server(ctx)
	}
	d.finish()
	return d.report, nil
}

// noDataFolder describes a folder that no server has written, and what to do. It is empty if a server may have
// written the folder, or if the folder does not exist.
func noDataFolder(dir string) (what, do string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", ""
	}
	for _, e := range entries {
		if slices.Contains([]string{"LOCK", "IDENTITY", "meta", "shards"}, e.Name()) {
			return "", ""
		}
	}
	if exists(filepath.Join(dir, "cordwood-backups.json")) {
		return dir + " is a repository of backups, not the data folder of a server",
			"check it with 'cordwood backup verify " + dir + "', and give the data folder by --data-dir"
	}
	return dir + " is not the data folder of a server: it has neither IDENTITY nor meta nor shards",
		"give the data folder by --data-dir"
}

// finish computes the results of the parts and of the run.
func (d *doctor) finish() {
	r := d.report
	for _, part := range []struct {
		name   string
		looked bool
	}{
		{"settings", !d.cfg.ServerOnly && (d.cfg.Settings != nil || d.cfg.SettingsErr != nil)},
		{"machine", !d.cfg.ServerOnly},
		{"server", r.Server != ""},
		{"data", d.folder != nil || r.status("data") != 0},
	} {
		if part.looked {
			r.Parts = append(r.Parts, Part{part.name, results[r.status(part.name)]})
		}
	}
	r.Result = results[r.Status()]
}

// data checks the folder. err is the error of reading its identity.
func (d *doctor) data(err error) error {
	d.part = "data"
	d.add(err, "IDENTITY", "restore the file from a backup of the folder")
	d.know("IDENTITY")
	d.total = size(d.cfg.DataDir)
	for _, file := range d.cfg.Forget {
		if err := d.forget(file); err != nil {
			return fmt.Errorf("forget %s: %w", file, err)
		}
	}
	shards := d.meta()
	for _, id := range d.shardDirs(shards) {
		d.shard(id)
	}
	d.unknownFiles()
	return nil
}

func (d *doctor) path(file string) string { return filepath.Join(d.cfg.DataDir, file) }

func (d *doctor) find(s Severity, file, do, what string, args ...any) {
	d.report.Findings = append(d.report.Findings, Finding{s, d.part, file, fmt.Sprintf(what, args...), do})
}

// add records an error of a check as damage.
func (d *doctor) add(err error, file, do string) {
	if err != nil {
		d.find(Damage, file, do, "%v", err)
	}
}

// know records that a file was checked.
func (d *doctor) know(file string) {
	d.known[file] = true
	info, err := os.Stat(d.path(file))
	if err != nil {
		return
	}
	d.report.Files++
	d.report.Bytes += info.Size()
	if d.cfg.Progress != nil {
		d.cfg.Progress(file, d.report.Bytes, d.total)
	}
}

// knowAll records everything below a directory as checked.
func (d *doctor) knowAll(dir string) {
	_ = filepath.WalkDir(d.path(dir), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if rel, err := filepath.Rel(d.cfg.DataDir, path); err == nil {
				d.know(rel)
			}
		}
		return nil // the check of the directory has reported the error
	})
}

func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

const restoreFolder = "restore the directory from a backup; do not start the server before that"

// meta checks the metadata and returns the shards that they place on this node.
func (d *doctor) meta() []uint32 {
	if _, err := os.Stat(d.path("meta")); errors.Is(err, fs.ErrNotExist) {
		if d.folder.Meta {
			d.find(Damage, "meta", restoreFolder, "the metadata is missing: databases, tables and pipelines are in it")
		}
		return nil
	}
	state := filepath.Join("meta", meta.StateFile)
	applied, shards, err := meta.Check(d.path(state))
	d.add(err, state, restoreFolder)
	d.know(state)
	v, verr := raftlog.Verify(d.path("meta"), func(_ uint64, data []byte) error { return meta.CheckCommand(data) }, nil)
	d.add(verr, "meta/log", restoreFolder)
	if err == nil && verr == nil && max(v.Last, v.Snapshot) < applied {
		d.find(Damage, "meta/log", restoreFolder, "the state holds commands up to %d, and the log ends with %d",
			applied, max(v.Last, v.Snapshot))
	}
	if _, err := os.Stat(d.path(state + ".restore")); err == nil {
		d.find(Note, state+".restore", "", "left over from an unfinished restore; it is harmless")
		d.know(state + ".restore")
	}
	d.knowAll("meta/log")
	d.knowAll("meta/snapshots")
	return shards
}

// unknownFiles reports files whose purpose is unknown.
func (d *doctor) unknownFiles() {
	for _, name := range []string{
		"PEERS", "CLOCK", node.StorageFile, node.CrashFile, node.LastCrashFile, marks.FileName, "meta/FENCED",
		secret.FileName,
	} {
		if exists(d.path(name)) {
			d.know(name)
		}
	}
	d.knowAll("audit") // records that wait for svc_private.audit; the server skips damaged lines
	d.knowAll("cache") // parts of objects, which the server compares with their checksums when it reads them
	// 'cordwood recover' and new incarnations of shards leave these files.
	for _, pattern := range []string{
		"meta.retired-*", filepath.Join("shards", "*.incarnation-*"),
		filepath.Join("shards", "*.diverged-*"),
	} {
		aside, _ := filepath.Glob(d.path(pattern))
		for _, path := range aside {
			rel, _ := filepath.Rel(d.cfg.DataDir, path)
			d.find(Note, rel, "remove it if you do not need its content", "it is the folder of a group that was given up")
			d.knowAll(rel)
		}
	}
	_ = filepath.WalkDir(d.cfg.DataDir, func(path string, e fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(d.cfg.DataDir, path)
		if err != nil || rerr != nil {
			d.find(Attention, rel, "check its permissions", "it cannot be read: %v", errors.Join(err, rerr))
			return nil
		}
		if e.IsDir() {
			if rel == "tmp" || rel == "lost+found" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.known[rel] && !strings.HasSuffix(rel, ".tmp") {
			d.find(Attention, rel, "remove it if you put it there", "this is not a file that the server writes")
		}
		return nil
	})
}
