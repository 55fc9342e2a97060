package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cordwood/shard/vfs"
)

// fenceFile lists the nodes that were members before Recover, one on each line. Their requests are
// refused until they are members again, because one of them may still believe that it leads.
const fenceFile = "FENCED"

// writeFence adds nodes to the list, except self.
func writeFence(dir, self string, nodes []string) error {
	have, err := readFence(dir)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n != self && !slices.Contains(have, n) {
			have = append(have, n)
		}
	}
	var lines []byte
	for _, n := range have {
		lines = append(append(lines, n...), '\n')
	}
	return vfs.Publish(vfs.OS, filepath.Join(dir, fenceFile), lines)
}

// readFence returns the nodes on the list.
func readFence(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, fenceFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}

// Fenced reports whether Recover has changed the member in a directory.
func Fenced(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, fenceFile))
	return err == nil
}

// refuseFenced returns a function that returns the reason why requests of a node are refused, or ""
// if they are not. nodes are the nodes on the list.
func refuseFenced(group string, nodes []string, now *running) func(node string) string {
	return func(node string) string {
		if !slices.Contains(nodes, node) || now.hasMember(node) {
			return ""
		}
		return fmt.Sprintf("group %s continued without node %s: it was recovered with 'cordwood recover', and the copy of "+
			"that node "+
			"is out of date", group, node)
	}
}
