// Package fault causes disk faults under real servers and checks how they react.
package fault

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Need skips the test unless it runs as root and the programs exist.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test needs root")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("this test needs %s: %v", p, err)
		}
	}
}

// Disk is a separate file system in a file.
type Disk struct {
	Dir   string
	t     testing.TB
	image string
	kind  string
}

// NewDisk creates and mounts a file system of a kind (ext4, xfs) and size. It skips the test if
// that is not possible.
func NewDisk(t testing.TB, kind string, mib int64) *Disk {
	t.Helper()
	Need(t, "mount", "umount", "losetup", "mkfs."+kind)
	d := &Disk{Dir: filepath.Join(t.TempDir(), "disk"), t: t, image: filepath.Join(t.TempDir(), kind+".img"), kind: kind}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, mib<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"-q", d.image}
	if kind == "ext4" {
		args = []string{"-q", "-m", "0", "-F", d.image}
	}
	if out, err := exec.Command("mkfs."+kind, args...).CombinedOutput(); err != nil {
		t.Skipf("mkfs.%s: %v: %s", kind, err, out)
	}
	if out, err := d.mount(); err != nil {
		t.Skipf("mount %s on a loop device: %v: %s", kind, err, out)
	}
	t.Cleanup(func() { d.Unmount() })
	return d
}

func (d *Disk) mount() ([]byte, error) {
	return exec.Command("mount", "-t", d.kind, "-o", "loop", d.image, d.Dir).CombinedOutput()
}

// Mount mounts the file system again, which lets it recover.
func (d *Disk) Mount() {
	d.t.Helper()
	if out, err := d.mount(); err != nil {
		d.t.Fatalf("mount: %v: %s", err, out)
	}
}

// Unmount unmounts the file system as soon as no process uses it.
func (d *Disk) Unmount() {
	d.t.Helper()
	var out []byte
	var err error
	for deadline := time.Now().Add(time.Minute); ; {
		if out, err = exec.Command("umount", d.Dir).CombinedOutput(); err == nil {
			return
		}
		if mounted, merr := isMount(d.Dir); merr == nil && !mounted {
			return
		}
		if time.Now().After(deadline) {
			d.t.Errorf("umount: %v: %s", err, out)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func isMount(dir string) (bool, error) {
	var a, b unix.Stat_t
	if err := unix.Stat(dir, &a); err != nil {
		return false, err
	}
	if err := unix.Stat(filepath.Dir(dir), &b); err != nil {
		return false, err
	}
	return a.Dev != b.Dev, nil
}

const (
	// shutdownIoctl is EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN.
	shutdownIoctl = 0x8004587d
	// noLogFlush makes the file system drop unsynced data, including the journal in memory.
	noLogFlush = 2
)

// CutPower stops the file system: synced data stays, all other data is lost.
func (d *Disk) CutPower() error {
	f, err := os.Open(d.Dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdownIoctl, noLogFlush); err != nil {
		return fmt.Errorf("shut down the file system: %w", err)
	}
	return nil
}
