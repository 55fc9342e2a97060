package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Values beyond these limits are reported.
const (
	// slowSync is the limit for a write with fsync. Every answer to a write waits for one.
	slowSync = 100 * time.Millisecond
	// clockAhead is how far in the future a file's time may be.
	clockAhead = 5 * time.Minute
)

// networkDisks are file systems on which locks and fsync do not work as on a local disk.
var networkDisks = map[int64]string{
	0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x517b: "SMB", 0x65735546: "FUSE",
}

// machine checks the machine: disk space, file descriptors, fsync and the clock.
func (d *doctor) machine() {
	d.part = "machine"
	dir := nearestDir(d.cfg.DataDir)
	d.disk(dir)
	d.sync(dir)
	d.clock()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Max < 8192 {
		d.find(Attention, "", "raise the limit, for example with LimitNOFILE of the service",
			"a process may have only %d open files; 8192 are recommended", limit.Max)
	}
}

// nearestDir returns the folder, or the nearest existing parent.
func nearestDir(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}

func (d *doctor) disk(dir string) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		d.find(Attention, "", "check its permissions", "the free disk space of %s cannot be checked: %v", dir, err)
		return
	}
	free, total := st.Bavail*uint64(st.Bsize), st.Blocks*uint64(st.Bsize)
	keep := min(2<<30, total/20)
	if c := d.cfg.Settings; c != nil && c.Disk.Reserve > 0 {
		keep = uint64(c.Disk.Reserve)
	}
	if free < keep {
		d.find(Attention, "", "delete or expire data, or make the disk larger",
			"the disk has %d MiB left of %d; writes are refused below %d", free>>20, total>>20, keep>>20)
	}
	if st.Ffree < 10_000 && st.Files > 0 {
		d.find(Attention, "", "remove files, or recreate the file system with more inodes",
			"the file system has room for %d more files", st.Ffree)
	}
	if name, ok := networkDisks[st.Type&0xffffffff]; ok {
		d.find(Attention, "", "put the data folder on a disk of this machine",
			"%s is on a network file system (%s), and its locks and syncs are not reliable", dir, name)
	}
	if unix.Access(dir, unix.W_OK) != nil {
		d.find(Attention, "", "run the server as the user who owns it, or change its owner",
			"%s cannot be written by this user", dir)
	}
}

// sync measures the time of an fsync, for which every acknowledged write waits, in a file without a
// name.
func (d *doctor) sync(dir string) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return // some file systems do not support such files
	}
	f := os.NewFile(uintptr(fd), "a file without a name in "+dir)
	defer func() { _ = f.Close() }() // the file disappears when its descriptor is closed
	var worst time.Duration
	for range 5 {
		begin := time.Now()
		_, err := f.Write(make([]byte, 4096))
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			d.find(Attention, "", "check the disk: the kernel's log has details", "a write to %s failed: %v", dir, err)
			return
		}
		worst = max(worst, time.Since(begin))
	}
	if worst > slowSync {
		d.find(Attention, "", "use a faster disk, or find other programs that write to it",
			"an fsync of 4 KiB took up to %s; every write waits for one", worst.Round(time.Millisecond))
	}
}

// clock checks that the time of the machine's clock is plausible.
func (d *doctor) clock() {
	now := time.Now()
	if now.Year() < 2024 {
		d.find(Attention, "", "set the clock, and keep it right with NTP", "the clock shows %s",
			now.UTC().Format(time.DateTime))
	}
	var t unix.Timex
	if state, err := unix.Adjtimex(&t); err == nil && (state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0) {
		d.find(Note, "", "run chrony, ntpd or systemd-timesyncd, if the host does not",
			"the kernel reports that the clock of this machine is not synchronised")
	}
	var newest time.Time
	var file string
	_ = filepath.WalkDir(d.cfg.DataDir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
				newest, file = info.ModTime(), path
			}
		}
		return nil // the check of the file reports the error
	})
	if ahead := newest.Sub(now); ahead > clockAhead {
		d.find(Attention, "", "set the clock, and keep it right with NTP: rows get their time from it, and expire by it",
			"the clock was set back: %s was written %s in the future", file, ahead.Round(time.Second))
	}
}

// differs reports how much another clock differs from this machine's.
func (d *doctor) differs(who string, other, before, after time.Time) {
	// Answers have whole seconds, and take some time.
	early, late := before.Add(-2*time.Second), after.Add(time.Second)
	if other.Before(early) || other.After(late) {
		d.find(Attention, "", "keep both clocks right with NTP", "the clock of %s is %s from this machine's", who,
			fmt.Sprint(other.Sub(before).Round(time.Second)))
	}
}
