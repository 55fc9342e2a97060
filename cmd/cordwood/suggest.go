package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/client"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/nearest"
)

// unknownNames are the server's errors about names that do not exist, with the request that lists
// the existing names.
var unknownNames = []struct {
	text  *lazyregexp.Regexp
	names func(cmd *cobra.Command) []string
}{
	{lazyregexp.New(`^Pipeline not found, name: ([^,]+), version: latest$`), pipelineNames},
	{lazyregexp.New(`^table [^.]+\.([^ ]+) does not exist$`), tableNames},
}

// unknownVersion matches the server's errors about versions of pipelines that do not exist.
var unknownVersion = lazyregexp.New(`^Invalid pipeline version format: |` +
	`^Pipeline not found, name: [^,]+, version: [0-9]`)

// suggest adds the most similar name to an error about a name that the server does not have.
func suggest(cmd *cobra.Command, err error) error {
	answer := (*client.Error)(nil)
	if !errors.As(err, &answer) || strings.Contains(answer.Msg, "did you mean") {
		return err
	}
	if unknownVersion.MatchString(answer.Msg) {
		return fmt.Errorf("%w; 'cordwood pipeline versions NAME' lists the existing versions", err)
	}
	for _, u := range unknownNames {
		m := u.text.FindStringSubmatch(answer.Msg)
		if m == nil {
			continue
		}
		if like := nearest.Name(m[1], u.names(cmd)); like != "" && like != m[1] {
			return fmt.Errorf("%w; did you mean %q?", err, like)
		}
	}
	return err
}
