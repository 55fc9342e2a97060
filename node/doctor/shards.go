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

	"cordwood/proto/words"
	"cordwood/shard"
	"cordwood/shard/cold/tier"
	"cordwood/shard/manifest"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

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
	d.objects(dir, st)
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
	for _, name := range []string{
		"INCARNATION", "RECOVERED", "raft/FENCED", "raft/JOINING", store.FlushingFile, store.CompactingFile,
		store.GivenUpFile, tier.HotSinceFile, tier.LogFromFile,
	} {
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
