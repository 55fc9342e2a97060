package pipeline

import (
	"os"
	"path/filepath"
	"testing"

	"cordwood/cmd/cordwood/cli/clitest"
)

// execute runs a command line of the program with the command of this package.
func execute(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return clitest.Execute(t, clitest.Root(NewCommand()), stdin, args...)
}

func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
