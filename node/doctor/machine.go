package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what needs no attention.
const (
	// slowSync is how long a write with fsync may take: every answer to a write waits for one.
	slowSync = 100 * time.Millisecond
	// clockAhead is how far in the future a file may have been written.
	clockAhead = 5 * time.Minute
)

// networkDisks are file systems on which locks and fsync do not mean what they do on a disk.
var networkDisks = map[int64]string{
	0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x517b: "SMB", 0x65735546: "FUSE",
}

// machine checks what a server needs from the machine: disk space, file descriptors, a disk that syncs and
// a clock that is right.
func (d *doctor) machine() {
	d.part = "machine"
	dir := nearestDir(d.cfg.DataDir)
	d.disk(dir)
	d.sync(dir)
	d.clock()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Max < 8192 {
		d.find(Attention, "", "raise it, as with LimitNOFILE of the service",
			"a process may have only %d open files; 8192 are wanted", limit.Max)
	}
}

// nearestDir returns the folder, or the one that it would be made in.
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
		d.find(Attention, "", "look at its permissions", "the disk of %s cannot be asked for its room: %v", dir, err)
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
		d.find(Attention, "", "remove files, or make the file system with more inodes",
			"the file system has room for %d more files", st.Ffree)
	}
	if name, ok := networkDisks[st.Type&0xffffffff]; ok {
		d.find(Attention, "", "put the data folder on a disk of this machine",
			"%s lies on a file system of the network (%s), whose locks and syncs cannot be relied on", dir, name)
	}
	if unix.Access(dir, unix.W_OK) != nil {
		d.find(Attention, "", "run the server as the user who owns it, or change its owner",
			"%s cannot be written by this user", dir)
	}
}

// sync measures what every acknowledged write waits for, in a file without a name.
func (d *doctor) sync(dir string) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return // not every file system has such files
	}
	f := os.NewFile(uintptr(fd), "a file without a name in "+dir)
	defer func() { _ = f.Close() }() // gone with it
	var worst time.Duration
	for range 5 {
		begin := time.Now()
		_, err := f.Write(make([]byte, 4096))
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			d.find(Attention, "", "look at the disk: the kernel's log says more", "a write to %s failed: %v", dir, err)
			return
		}
		worst = max(worst, time.Since(begin))
	}
	if worst > slowSync {
		d.find(Attention, "", "use a faster disk, or find out who else writes to it",
			"4 KiB took up to %s until they were safe on the disk; every write waits for that", worst.Round(time.Millisecond))
	}
}

// clock reports whether the machine's clock can be right.
func (d *doctor) clock() {
	now := time.Now()
	if now.Year() < 2024 {
		d.find(Attention, "", "set the clock, and keep it right with NTP", "the clock says %s",
			now.UTC().Format(time.DateTime))
	}
	var t unix.Timex
	if state, err := unix.Adjtimex(&t); err == nil && (state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0) {
		d.find(Note, "", "run chrony, ntpd or systemd-timesyncd, if the host does not",
			"nothing keeps the clock of this machine right, as far as the kernel knows")
	}
	var newest time.Time
	var file string
	_ = filepath.WalkDir(d.cfg.DataDir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
				newest, file = info.ModTime(), path
			}
		}
		return nil // the check of the file says more
	})
	if ahead := newest.Sub(now); ahead > clockAhead {
		d.find(Attention, "", "set the clock, and keep it right with NTP: rows get their time from it, and expire by it",
			"the clock went back: %s was written %s from now", file, ahead.Round(time.Second))
	}
}

// differs notes how far another clock is from this machine's.
func (d *doctor) differs(who string, other, before, after time.Time) {
	// Answers carry whole seconds, and take their time.
	early, late := before.Add(-2*time.Second), after.Add(time.Second)
	if other.Before(early) || other.After(late) {
		d.find(Attention, "", "keep both clocks right with NTP", "the clock of %s is %s from this machine's", who,
			fmt.Sprint(other.Sub(before).Round(time.Second)))
	}
}
