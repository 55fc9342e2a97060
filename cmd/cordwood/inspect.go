package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/meta"
	"cordwood/node"
	"cordwood/node/backup"
	"cordwood/node/marks"
	"cordwood/node/secret"
	"cordwood/proto/column"
	"cordwood/shard/cold/cache"
	"cordwood/shard/cold/states"
	"cordwood/shard/cold/tier"
	"cordwood/shard/manifest"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/snapshot"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

func newInspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect FILE…",
		Short: "Print the server's files as text",
		Long: `Print files that the server writes as text, without changing them. The content or the name of a file
determines its kind:

  IDENTITY, PEERS, MARKS        the owner of the data folder, addresses of nodes, marks that detect older copies
  STORAGE                       which directory is the object storage of the node
  CRASH, CRASH.last             why a process crashed
  CLOCK                         the last time of the clock
  meta/state.db                 databases, tables, shards, nodes
  meta                          the metadata log
  shards/1/INCARNATION          the incarnation of the shard
  shards/1/GIVENUP              segments whose rows were given up
  shards/1/HOTSINCE             since when tables have rows that are not in object storage
  shards/1/LOGFROM              from where on their rows are in the log in object storage
  shards/1/MANIFEST             the live segments of a shard
  shards/1                      the log of a shard: the writes not yet in segments
  shards/1/segments/*.parquet   segments
  shards/1/raft/snapshots/*/state.bin  a snapshot, with its raft metadata
  shards/1/segments/*.damaged   why a segment is quarantined
  cache/*.parquet               a part of an object in object storage, as the engine sees it
  cache/*.map                   which parts of an object are in the cache
  *.state                       a state of a shard or of the metadata, from object storage
  *.batch                       a single column batch
  cordwood-backups.json         the file that marks a folder as a repository of backups
  backups/*.manifest            a backup, in its repository
  metadata/*.records            the tables and pipelines of backups

'cordwood doctor' checks all of them at once. Files of the metadata can be read only while the server
is stopped.`,
		Example: `  cordwood inspect cordwood-data/shards/1/MANIFEST
  cordwood inspect cordwood-data/shards/*/segments/*.parquet`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var faults []error
			for i, path := range args {
				if len(args) > 1 {
					sep := "\n"
					if i == 0 {
						sep = ""
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s==> %s <==\n", sep, path)
				}
				if err := inspect(cmd.OutOrStdout(), path); err != nil {
					faults = append(faults, err)
				}
			}
			return errors.Join(faults...)
		},
	}
}

func inspect(w io.Writer, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return inspectDir(w, path)
	}
	switch name := filepath.Base(path); {
	case name == "state.db":
		return meta.Inspect(w, path)
	case name == "state.bin" || name == "meta.json":
		return snapshot.Inspect(w, filepath.Dir(path))
	case strings.HasSuffix(name, store.DamagedSuffix):
		b, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	case name == "raft.db":
		return inspectDir(w, filepath.Dir(path))
	case strings.HasSuffix(name, ".wal") || name == "wal-meta.db":
		return inspectDir(w, filepath.Dir(path))
	}
	return inspectByHead(w, path, info)
}

// inspectByHead prints a file that is recognised by its first bytes.
func inspectByHead(w io.Writer, path string, info os.FileInfo) error {
	head, err := readHead(path)
	if err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return segment.Inspect(w, vfs.OS, path)
	case filepath.Base(path) == manifest.FileName || strings.HasPrefix(filepath.Base(path), manifest.FileName+"."):
		return manifest.Inspect(w, vfs.OS, path)
	case backup.Framed(head):
		return inspectBytes(w, path, backup.Inspect)
	case bytes.HasPrefix(head, []byte("CWCM")):
		return inspectBytes(w, path, cache.Inspect)
	case states.Is(head):
		return inspectBytes(w, path, states.Inspect)
	case bytes.HasPrefix(head, []byte("CWCB")):
		return inspectBytes(w, path, column.Inspect)
	}
	return inspectSmall(w, path, info)
}

// inspectBytes reads a whole file and prints it.
func inspectBytes(w io.Writer, path string, show func(w io.Writer, file []byte) error) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return show(w, b)
}

// textFiles lists the names of files that are text.
var textFiles = []string{
	"IDENTITY", "PEERS", node.StorageFile, node.CrashFile, node.LastCrashFile, marks.FileName, "INCARNATION",
	"RECOVERED", "RECOVERING", store.FlushingFile,
	store.CompactingFile, store.GivenUpFile, tier.HotSinceFile, tier.LogFromFile,
	"cordwood-backups.json",
}

// maxText is the number of bytes printed of a text file.
const maxText = 1 << 20

// inspectSmall prints a file that is recognised only by its name.
func inspectSmall(w io.Writer, path string, info os.FileInfo) error {
	switch name := filepath.Base(path); {
	case name == "CLOCK":
		_, err := fmt.Fprintf(w, "the recorded time of the clock is %s: the modification time of the file, which is empty\n",
			info.ModTime().UTC().Format(time.RFC3339Nano))
		return err
	case name == "LOCK":
		address := "which is empty"
		if at := node.ServerOf(filepath.Dir(path)); at != "" {
			address = "which has its address: " + at
		}
		_, err := fmt.Fprintln(w, "a running server holds a lock on this file, "+address)
		return err
	case name == secret.FileName:
		return fmt.Errorf("inspect %s: this is the secret of the cluster, which is not printed", path)
	case slices.Contains(textFiles, name) && info.Size() <= maxText:
		b, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
	return fmt.Errorf("inspect %s: cordwood does not write such a file; 'cordwood inspect --help' lists its files", path)
}

// inspectDir prints the log in the directory, or below it in the layout of a node: meta/log,
// shards/1/raft/log.
func inspectDir(w io.Writer, dir string) error {
	for _, sub := range []string{"", "log", "raft/log"} {
		path := filepath.Join(dir, sub)
		wal, err := filepath.Glob(filepath.Join(path, "*.wal"))
		if err != nil {
			return err
		}
		bolt, err := filepath.Glob(filepath.Join(path, "*.db"))
		if err != nil {
			return err
		}
		switch {
		case len(wal) > 0:
			return raftlog.Inspect(w, path, func(w io.Writer, data []byte) {
				if err := rules.InspectEntry(w, data); err != nil {
					fmt.Fprintf(w, "  %v\n", err)
				}
			})
		case len(bolt) > 0 && filepath.Base(bolt[0]) == "raft.db":
			return raftlog.Inspect(w, path, meta.InspectCommand)
		}
	}
	return fmt.Errorf("inspect %s: there is no log; 'cordwood inspect --help' lists what can be read", dir)
}

func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 8)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	return head[:n], err
}
