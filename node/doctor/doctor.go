// Package doctor checks a node: its settings, its machine, and a running server, or the data folder of a stopped
// server, which it reads completely. It reports what is wrong and what to do.
//
// Run changes nothing except what Config.Forget requests. It reads logs, databases, manifests, segments, snapshots
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
	"strconv"
	"strings"

	"cordwood/meta"
	"cordwood/node"
	"cordwood/node/config"
	"cordwood/node/marks"
	"cordwood/node/secret"
	"cordwood/proto/words"
	"cordwood/shard"
	"cordwood/shard/manifest"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
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
	cfg    Config
	part   string // the part that is checked
	folder *node.Offline
	report *Report
	known  map[string]bool // files that were checked, relative to the folder
	total  int64
}

// Run runs all checks that are possible. It returns an error if no check is possible, or if files of Forget cannot be
// removed.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	d := &doctor{
		cfg: cfg, report: &Report{DataDir: cfg.DataDir, Parts: []Part{}, Findings: []Finding{}},
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

// shardDirs returns the shards to check: those with a folder, and those that the metadata place on this node.
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
			d.find(Attention, filepath.Join("shards", e.Name()), "find out where it comes from before it is removed",
				"the metadata does not list this shard")
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// shard checks the files of one shard.
func (d *doctor) shard(id uint32) {
	dir := filepath.Join("shards", strconv.FormatUint(uint64(id), 10))
	if _, err := os.Stat(d.path(dir)); err != nil {
		d.find(Damage, dir, restoreFolder, "the shard was created here, but its folder is missing: %v", err)
		return
	}
	raft := filepath.Join(dir, "raft")
	v, verr := raftlog.Verify(d.path(raft), func(index uint64, data []byte) error {
		if err := rules.CheckEntry(data); err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
		return nil
	}, shard.CheckSnapshot)
	do := restoreFolder
	if st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: d.path(dir), ShardID: id}); err == nil &&
		raftlog.WillCut(d.path(raft), d.folder.NodeID, st.AppliedIndex, verr) {
		do = "start the server: the rows of the damaged entries are in segments, and the start removes the entries; then " +
			"check the disk"
	}
	d.add(verr, raft, do)
	d.knowAll(raft)
	if v.Torn > 0 {
		d.find(Note, filepath.Join(raft, "log"), "",
			"%s of an append that was not finished, and not acknowledged; the next start removes them",
			words.Count(v.Torn, "byte"))
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
		d.find(Damage, raft, restoreFolder, "the manifest holds entries up to %d, and the log ends with %d",
			st.AppliedIndex, max(v.Last, v.Snapshot))
	case verr == nil && v.SnapshotCommand > st.AppliedIndex:
		d.find(Damage, file, restoreFolder, "it holds entries up to %d, and the newest snapshot ends with %d: it is "+
			"damaged or was replaced by an older one", st.AppliedIndex, v.SnapshotCommand)
	}
	d.know(file)
	if torn > 0 {
		d.find(Note, file, "", "%s of an unfinished edit; ignored", words.Count(torn, "byte"))
	}
	d.segments(dir, st)
}

// segment reads a segment completely.
func (d *doctor) segment(segments string, m *segment.Meta) {
	file := filepath.Join(segments, m.FileName())
	if m.Raw {
		d.find(Attention, file,
			"start a newer version, which tries again, or drop the table; its rows are kept and can be queried meanwhile",
			"%s of table %d could not be written in the usual form", words.Count(m.Rows, "row"), m.TableID)
	}
	if err := readSegment(d.path(segments), m); err != nil {
		d.find(Damage, file,
			fmt.Sprintf("restore the file from a backup, or give up its %s with: cordwood doctor --data-dir %s "+
				"--forget %s", words.Count(m.Rows, "row"), d.cfg.DataDir, file), "%v", err)
	}
	d.know(file)
	if mark := file + store.DamagedSuffix; exists(d.path(mark)) {
		d.find(Attention, mark, "the next start removes it if the segment is whole",
			"the server found the segment damaged and quarantined it")
		d.know(mark)
	}
}

// segments reads every segment of a shard completely, by checksum and row by row.
func (d *doctor) segments(dir string, st *manifest.State) {
	segments := filepath.Join(dir, "segments")
	for i := range st.Segments {
		d.segment(segments, &st.Segments[i])
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
			d.find(Note, file, "",
				"left over from an unfinished flush; its rows are in the log, and the next start removes it")
		case strings.HasSuffix(e.Name(), segment.Suffix), strings.HasSuffix(e.Name(), segment.RawSuffix):
			d.find(Note, file, "", "not in the manifest: the next start removes it, or moves it to lost+found")
		default:
			d.find(Attention, file, "remove it if you put it there", "this is not a file of a shard")
		}
	}
	for _, name := range []string{"INCARNATION", "RECOVERED", "raft/FENCED", store.FlushingFile, store.CompactingFile} {
		if file := filepath.Join(dir, name); exists(d.path(file)) {
			d.know(file)
		}
	}
	for name, what := range map[string][2]string{
		"RECOVERING": {
			"run 'cordwood recover' for this shard again", "'cordwood recover' was interrupted: the replica is not opened",
		},
		"raft/DIVERGED": {
			"rebuild it with 'cordwood shard rebuild', and keep this folder until you are sure that no row is missing",
			"the replica has entries that its leader has lost, because a disk was restored to an earlier state: it is " +
				"not opened",
		},
	} {
		if file := filepath.Join(dir, name); exists(d.path(file)) {
			d.find(Attention, file, what[0], "%s", what[1])
			d.know(file)
		}
	}
	for _, name := range []string{"incoming", "expired"} {
		d.knowAll(filepath.Join(dir, name))
	}
	if entries, _ := os.ReadDir(d.path(filepath.Join(dir, "lost+found"))); len(entries) > 0 {
		d.find(Attention, filepath.Join(dir, "lost+found"), "remove the files if you do not need their rows",
			"%s of unknown origin %s moved to lost+found", words.Count(len(entries), "segment file"),
			words.Pick(len(entries), "was", "were"))
		d.knowAll(filepath.Join(dir, "lost+found"))
	}
	if tmp := filepath.Join(dir, segment.TempName(manifest.FileName)); exists(d.path(tmp)) {
		d.find(Note, tmp, "", "left over from an unfinished manifest")
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
	if m.Raw {
		return nil // the rows of this segment are batches, and the checksum is correct
	}
	r, err := segment.Open(vfs.OS, filepath.Join(dir, m.FileName()), m)
	if err != nil {
		return err
	}
	return errors.Join(readRows(r, m), r.Close())
}

// unknownFiles reports files whose purpose is unknown.
func (d *doctor) unknownFiles() {
	for _, name := range []string{"PEERS", "CLOCK", marks.FileName, "meta/FENCED", secret.FileName} {
		if exists(d.path(name)) {
			d.know(name)
		}
	}
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
