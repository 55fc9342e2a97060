package bucket

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cordwood/shard/vfs"
)

// MarkerName is the key of the file that marks a directory as a place for objects.
const MarkerName = "cordwood.json"

// markerFormat is the version of the marker. A newer one is refused.
const markerFormat = 1

// marker is the content of the file MarkerName.
type marker struct {
	Format int `json:"format"`
	// ID is a random text. A directory that is copied as a whole keeps it.
	ID string `json:"id"`
}

// ErrOtherDirectory is the cause of errors of a directory that is not the one that was marked.
var ErrOtherDirectory = errors.New("it is not the directory that was used before; perhaps a file system is not " +
	"mounted there: mount it")

// Mark ties d to the directory that is there now, and returns the id of its marker. From then on, d writes, lists
// and removes nothing, and does not say that an object is missing, unless the directory has this marker: where a
// file system was mounted, an empty directory may appear at any time.
//
// known is the id that the caller has seen there before, or empty. If it is not empty, another directory is an error,
// and otherwise a directory without a marker gets one. The directory itself is never created.
func (d *Dir) Mark(known string) (id string, err error) {
	content, err := d.readMarker()
	if errors.Is(err, fs.ErrNotExist) && known == "" {
		if err = d.makeMarker(); err == nil {
			content, err = d.readMarker()
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", d.other(fmt.Errorf("%w (there is no file %s)", ErrOtherDirectory, MarkerName))
	}
	if err != nil {
		return "", d.fail("read", MarkerName, err)
	}
	var m marker
	switch err := json.Unmarshal(content, &m); {
	case err != nil || m.ID == "":
		return "", d.other(fmt.Errorf("the file %s is damaged: restore it from a copy of the directory", MarkerName))
	case m.Format > markerFormat:
		return "", d.other(fmt.Errorf("the file %s has the format %d, which this version does not know: run the version "+
			"that wrote it", MarkerName, m.Format))
	case known != "" && m.ID != known:
		return "", d.other(fmt.Errorf("%w (the file %s has the id %s, want %s)", ErrOtherDirectory, MarkerName, m.ID, known))
	}
	d.marker.Store(&content)
	return m.ID, nil
}

func (d *Dir) readMarker() ([]byte, error) { return os.ReadFile(d.file(MarkerName)) }

// makeMarker writes the marker. If another process does so at the same time, one of the two counts.
func (d *Dir) makeMarker() error {
	b, err := json.Marshal(marker{markerFormat, rand.Text()})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(d.file(MarkerName+"."+rand.Text()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), d.file(MarkerName))
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		err = os.Rename(f.Name(), d.file(MarkerName)) // a file system without links
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return vfs.OS.SyncDir(filepath.Clean(d.root))
}

// present returns an error if d was marked and the directory there is another one.
func (d *Dir) present() error {
	want := d.marker.Load()
	if want == nil {
		return nil
	}
	got, err := d.readMarker()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.other(fmt.Errorf("%w (there is no file %s)", ErrOtherDirectory, MarkerName))
	case err != nil:
		return d.other(fmt.Errorf("read %s: %w", MarkerName, err))
	case !bytes.Equal(got, *want):
		return d.other(fmt.Errorf("%w (the file %s has changed)", ErrOtherDirectory, MarkerName))
	}
	return nil
}

func (d *Dir) other(err error) error {
	return &Error{Kind: Unavailable, Op: "use", At: d.root, Err: err}
}
