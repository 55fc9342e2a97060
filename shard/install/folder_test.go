package install

import (
	"hash/crc32"
	"testing"

	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// TestFetchContinues checks that the next attempt continues with the received part of a file, whenever the previous
// one ended, and that it ignores bytes beyond the file's size.
func TestFetchContinues(t *testing.T) {
	t.Parallel()
	const path = "in/f.fetched"
	for _, test := range []struct {
		name       string
		temp, part string
		want       string
	}{
		{"nothing is here", "", "", ""},
		{"an attempt ended", "some", "", "some"},
		{"it ended while it copied", "so", "some", "some"},
		{"it ended before the copy was removed", "some more", "some", "some more"},
		{"more than there can be", "much too much for this", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := folder{fs: vfs.NewMem(), dir: "in"}
			if err := in.fs.MkdirAll(in.dir); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{segment.TempName(path): test.temp, partName(path): test.part} {
				if text == "" {
					continue
				}
				f, err := in.fs.Create(name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := in.keep(map[string]bool{"f.fetched": true}); err != nil {
				t.Fatal(err)
			}
			f, at, crc, err := in.resume(path, 10)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if at != int64(len(test.want)) || crc != crc32.Checksum([]byte(test.want), castagnoli) {
				t.Errorf("it continues at %d, with checksum %08x, want after %q", at, crc, test.want)
			}
			if names, err := in.fs.ReadDir("in"); err != nil || len(names) != 1 {
				t.Errorf("files %v %v, want one", names, err)
			}
			if err := in.keep(nil); err != nil {
				t.Fatal(err)
			}
			if names, err := in.fs.ReadDir("in"); err != nil || len(names) != 0 {
				t.Errorf("files %v %v, want none", names, err)
			}
		})
	}
}
