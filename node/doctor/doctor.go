// Package doctor reads a data folder that no server uses from the first byte to the
// last and says what is wrong with it, and what to do.
//
// Run changes nothing but what Config.Forget asks for. It reads logs, databases,
// manifests, segments, snapshots and the identity with the checks of the packages that
// write them, and knows from them which files should be there.
package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cordwood/meta"
	"cordwood/node"
	"cordwood/shard"
	"cordwood/shard/manifest"
	"cordwood/shard/replica"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// Severity is how bad a finding is.
type Severity string

const (
	// Note is worth knowing and needs nothing.
	Note Severity = "note"
	// Attention means that somebody should look; no data is lost.
	Attention Severity = "attention"
	// Damage means that data is lost or cannot be read.
	Damage Severity = "damage"
)

// Finding is one thing that was found.
type Finding struct {
	Severity Severity `json:"severity"`
	// File is relative to the data folder; empty: the machine.
	File string `json:"file"`
	What string `json:"what"`
	// Do says what to do about it.
	Do string `json:"do,omitempty"`
}

// Report is what a run found.
type Report struct {
	DataDir  string    `json:"data_dir"`
	Result   string    `json:"result"`
	Findings []Finding `json:"findings"`
	// Files and Bytes were read.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Status is 0 for a sound folder, 1 if somebody should look, 2 if there is damage.
func (r *Report) Status() int {
	status := 0
	for _, f := range r.Findings {
		switch f.Severity {
		case Damage:
			return 2
		case Attention:
			status = 1
		}
	}
	return status
}

// Config says what Run does.
type Config struct {
	DataDir string
	// Forget lists segment files, as shards/1/segments/NAME.parquet, whose rows are given
	// up: each must be damaged.
	Forget []string
	// Progress, if not nil, is told what is read, and how many bytes are done of how many.
	Progress func(file string, done, total int64)
}

// doctor is a run.
type doctor struct {
	cfg    Config
	folder *node.Offline
	report *Report
	known  map[string]bool // files that were dealt with, relative to the folder
	total  int64
}

// Run looks at a data folder. The error is for a folder that cannot be looked at, as
// one that a server uses.
func Run(cfg Config) (*Report, error) {
	d := &doctor{cfg: cfg, report: &Report{DataDir: cfg.DataDir, Findings: []Finding{}}, known: map[string]bool{"LOCK": true}}
	folder, err := node.OpenOffline(cfg.DataDir)
	if folder == nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // a lock that is let go
	d.folder = folder
	d.add(err, "IDENTITY", "restore the file from a backup of the folder")
	d.know("IDENTITY")
	d.total = size(cfg.DataDir)
	d.machine()
	for _, file := range cfg.Forget {
		if err := d.forget(file); err != nil {
			return nil, fmt.Errorf("forget %s: %w", file, err)
		}
	}
	shards := d.meta()
	for _, id := range d.shardDirs(shards) {
		d.shard(id)
	}
	d.strangers()
	d.report.Result = [...]string{"sound", "needs attention", "damaged"}[d.report.Status()]
	return d.report, nil
}

func (d *doctor) path(file string) string { return filepath.Join(d.cfg.DataDir, file) }

func (d *doctor) find(s Severity, file, do, what string, args ...any) {
	d.report.Findings = append(d.report.Findings, Finding{s, file, fmt.Sprintf(what, args...), do})
}

// add notes an error of a check as damage.
func (d *doctor) add(err error, file, do string) {
	if err != nil {
		d.find(Damage, file, do, "%v", err)
	}
}

// know notes that a file was read.
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

// knowAll notes everything below a directory.
func (d *doctor) knowAll(dir string) {
	_ = filepath.WalkDir(d.path(dir), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if rel, err := filepath.Rel(d.cfg.DataDir, path); err == nil {
				d.know(rel)
			}
		}
		return nil // what cannot be listed was found by the check of it
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

const restoreFolder = "restore the directory from a backup; do not start the server before"

// meta checks the metadata and returns the shards that it knows.
func (d *doctor) meta() []uint32 {
	if _, err := os.Stat(d.path("meta")); errors.Is(err, fs.ErrNotExist) {
		if d.folder.ClusterID != "" {
			d.find(Damage, "meta", restoreFolder, "the metadata is missing: databases, tables and pipelines are in it")
		}
		return nil
	}
	state := filepath.Join("meta", meta.StateFile)
	applied, shards, err := meta.Check(d.path(state))
	d.add(err, state, restoreFolder)
	d.know(state)
	v, verr := replica.Verify(d.path("meta"), func(_ uint64, data []byte) error { return meta.CheckCommand(data) }, nil)
	d.add(verr, "meta/log", restoreFolder)
	if err == nil && verr == nil && max(v.Last, v.Snapshot) < applied {
		d.find(Damage, "meta/log", restoreFolder, "the state holds commands up to %d, and the log ends with %d", applied, max(v.Last, v.Snapshot))
	}
	if _, err := os.Stat(d.path(state + ".restore")); err == nil {
		d.find(Note, state+".restore", "", "left over from a restore that was not finished; it means nothing")
		d.know(state + ".restore")
	}
	d.knowAll("meta/log")
	d.knowAll("meta/snapshots")
	return shards
}

// shardDirs returns the shards to look at: those that the folder has, and those that
// it should have.
func (d *doctor) shardDirs(placed []uint32) []uint32 {
	ids := slices.Clone(d.folder.Shards)
	entries, _ := os.ReadDir(d.path("shards"))
	for _, e := range entries {
		id, err := strconv.ParseUint(e.Name(), 10, 32)
		if err != nil || !e.IsDir() {
			continue
		}
		ids = append(ids, uint32(id))
		if placed != nil && !slices.Contains(placed, uint32(id)) {
			d.find(Attention, filepath.Join("shards", e.Name()), "find out where it comes from before it is removed", "the metadata does not know this shard")
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// shard checks the files of one shard.
func (d *doctor) shard(id uint32) {
	dir := filepath.Join("shards", strconv.FormatUint(uint64(id), 10))
	if _, err := os.Stat(d.path(dir)); err != nil {
		d.find(Damage, dir, restoreFolder, "the shard was created here and its folder is gone: %v", err)
		return
	}
	raft := filepath.Join(dir, "raft")
	v, verr := replica.Verify(d.path(raft), func(index uint64, data []byte) error {
		if err := shard.CheckEntry(data); err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
		return nil
	}, shard.CheckSnapshot)
	d.add(verr, raft, restoreFolder)
	d.knowAll(raft)
	if v.Torn > 0 {
		d.find(Note, filepath.Join(raft, "log"), "", "%d bytes of an append that was not finished, and not acknowledged; they are cut off at the next start", v.Torn)
	}

	file := filepath.Join(dir, manifest.FileName)
	st, torn, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: d.path(dir), ShardID: id})
	switch {
	case errors.Is(err, fs.ErrNotExist) && v.Snapshot == 0:
		st = &manifest.State{} // nothing was flushed yet
	case err != nil:
		d.add(err, file, restoreFolder)
		d.knowAll(dir)
		return
	case verr == nil && max(v.Last, v.Snapshot) < st.AppliedIndex:
		d.find(Damage, raft, restoreFolder, "the manifest holds entries up to %d, and the log ends with %d", st.AppliedIndex, max(v.Last, v.Snapshot))
	case verr == nil && v.SnapshotCommand > st.AppliedIndex:
		d.find(Damage, file, restoreFolder, "it holds entries up to %d, and the newest snapshot ends with %d: it is damaged or was replaced by an older one", st.AppliedIndex, v.SnapshotCommand)
	}
	d.know(file)
	if torn > 0 {
		d.find(Note, file, "", "%d bytes of an edit that was not finished; they are left out", torn)
	}
	d.segments(dir, st)
}

// segments reads every segment of a shard through, by checksum and row by row.
func (d *doctor) segments(dir string, st *manifest.State) {
	segments := filepath.Join(dir, "segments")
	for i := range st.Segments {
		m := &st.Segments[i]
		file := filepath.Join(segments, segment.FileName(m.ID))
		if err := readSegment(d.path(segments), m); err != nil {
			d.find(Damage, file, fmt.Sprintf("restore the file from a backup, or give up its %d rows with: cordwood doctor --data-dir %s --forget %s", m.Rows, d.cfg.DataDir, file), "%v", err)
		}
		d.know(file)
		if mark := file + shard.DamagedSuffix; exists(d.path(mark)) {
			d.find(Attention, mark, "it goes by itself at the next start if the segment is whole", "the server found the segment damaged and sets it aside")
			d.know(mark)
		}
	}
	entries, _ := os.ReadDir(d.path(segments))
	for _, e := range entries {
		file := filepath.Join(segments, e.Name())
		if d.known[file] {
			continue
		}
		d.know(file)
		switch {
		case segment.IsTemp(e.Name()):
			d.find(Note, file, "", "left over from a flush that was not finished; its rows are in the log, and it goes at the next start")
		case strings.HasSuffix(e.Name(), segment.Suffix):
			d.find(Note, file, "", "not in the manifest: the next start removes it, or sets it aside in lost+found")
		default:
			d.find(Attention, file, "remove it if it is yours", "this is no file of a shard")
		}
	}
	if entries, _ := os.ReadDir(d.path(filepath.Join(dir, "lost+found"))); len(entries) > 0 {
		d.find(Attention, filepath.Join(dir, "lost+found"), "remove the files if their rows are not missed", "%d segment files that nothing explained were set aside", len(entries))
		d.knowAll(filepath.Join(dir, "lost+found"))
	}
	if tmp := filepath.Join(dir, segment.TempName(manifest.FileName)); exists(d.path(tmp)) {
		d.find(Note, tmp, "", "left over from a manifest that was not finished")
		d.know(tmp)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readSegment compares a segment's file with the manifest, and then reads its rows.
func readSegment(dir string, m *segment.Meta) error {
	if err := segment.Check(vfs.OS, dir, m, true); err != nil {
		return err
	}
	r, err := segment.Open(vfs.OS, filepath.Join(dir, segment.FileName(m.ID)), m)
	if err != nil {
		return err
	}
	return errors.Join(readRows(r, m), r.Close())
}

// machine looks at what the folder needs of the machine.
func (d *doctor) machine() {
	var st unix.Statfs_t
	if err := unix.Statfs(d.cfg.DataDir, &st); err == nil {
		free, total := st.Bavail*uint64(st.Bsize), st.Blocks*uint64(st.Bsize)
		if keep := min(2<<30, total/20); free < keep {
			d.find(Attention, "", "delete or expire data, or make the disk larger", "the disk has %d MiB left of %d; below %d rows are refused", free>>20, total>>20, keep>>20)
		}
		if st.Ffree < 10_000 && st.Files > 0 {
			d.find(Attention, "", "remove files, or make the file system with more inodes", "the file system has room for %d more files", st.Ffree)
		}
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Max < 8192 {
		d.find(Attention, "", "raise it, as with LimitNOFILE of the service", "a process may have only %d open files; 8192 are wanted", limit.Max)
	}
}

// strangers names files that no part of the folder explains.
func (d *doctor) strangers() {
	_ = filepath.WalkDir(d.cfg.DataDir, func(path string, e fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(d.cfg.DataDir, path)
		if err != nil || rerr != nil {
			d.find(Attention, rel, "look at its permissions", "it cannot be read: %v", errors.Join(err, rerr))
			return nil
		}
		if e.IsDir() {
			if rel == "tmp" || rel == "lost+found" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.known[rel] && !strings.HasSuffix(rel, ".tmp") {
			d.find(Attention, rel, "remove it if it is yours", "this is no file that the server writes")
		}
		return nil
	})
}
