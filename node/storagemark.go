package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/vfs"
)

// StorageFile is the file of the data folder that says which directory is the object storage of the node. Without it, a
// directory where a file system is not mounted would be taken for a new one.
const StorageFile = "STORAGE"

// storageNote is the content of StorageFile.
type storageNote struct {
	// Location is the directory, and Marker the id of the marker in it.
	Location string `json:"location"`
	Marker   string `json:"marker"`
}

// noted returns what was noted about a directory; zero if nothing was.
func noted(file string, d *bucket.Dir) (note storageNote, err error) {
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &note)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return storageNote{}, nil
	case err != nil:
		return note, fmt.Errorf("read which directory was used before: %s: %w; remove the file if the directory is the "+
			"right one", file, err)
	case note.Location != d.Location():
		return storageNote{}, nil
	}
	return note, nil
}

// CheckDirectory returns an error if a directory is not the one that a node has used at this location before. It
// changes nothing.
func CheckDirectory(file string, d *bucket.Dir) error {
	if err := d.Exists(); err != nil {
		return err
	}
	note, err := noted(file, d)
	if err == nil && note.Marker != "" {
		_, err = d.Mark(note.Marker)
	}
	return err
}

// markDirectory ties a directory to the marker that this node has seen there before. If it has seen none, the directory
// gets one, and the node notes it in file.
func markDirectory(file string, d *bucket.Dir) error {
	before, err := noted(file, d)
	if err != nil {
		return err
	}
	id, err := d.Mark(before.Marker)
	switch {
	case errors.Is(err, bucket.ErrOtherDirectory):
		return fmt.Errorf("%w; if it is the right one, because its files were copied without %s, remove %s", err,
			bucket.MarkerName, file)
	case err != nil || id == before.Marker:
		return err
	}
	b, err := json.Marshal(storageNote{d.Location(), id})
	if err != nil {
		return err
	}
	if err := vfs.Publish(vfs.OS, file, append(b, '\n')); err != nil {
		return fmt.Errorf("note which directory is used: %w", err)
	}
	return nil
}
