package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node/config"
	"cordwood/shard/cold/bucket"
)

func newObjectStorageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "object-storage",
		Short: "Check object storage",
		Long:  "Work with object storage: a bucket of an S3 service, or a directory that all nodes share.",
		Example: `  cordwood object-storage check s3://logs/prod
  cordwood object-storage check file:///mnt/shared/cordwood`,
	}
	cmd.AddCommand(newObjectStorageCheckCommand())
	return cmd
}

// probeStall is how long a check waits for the next byte of an answer.
const probeStall = 10 * time.Second

func newObjectStorageCheckCommand() *cobra.Command {
	cfg := bucket.Config{S3: bucket.S3Config{Stall: probeStall}}
	var output string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Try all that cordwood needs from a bucket",
		Long: `Try all that cordwood needs from a bucket: store a small object, read a part of it, describe it, store
another one with the same key, which the service must refuse, store one with a wrong checksum, list,
copy, and remove. The clock of the service is compared with this machine's. The keys begin with
probe/. All objects are removed at the end; a directory keeps an empty folder tmp.

URL is s3://BUCKET/PREFIX or file:///DIRECTORY. Credentials come from AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the files of ~/.aws, a web identity, or the role of the
machine. The output says which were found.

A step that fails is FAILED if objects cannot be kept in this bucket, and a warning if they can. The
exit status is 1 if a step FAILED. Each request is sent once, so try again after a timeout.`,
		Example: `  cordwood object-storage check s3://logs/prod
  cordwood object-storage check s3://logs/prod --endpoint https://minio.example.com
  cordwood object-storage check file:///mnt/shared/cordwood --output json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return cli.WrongUsage(fmt.Errorf("--timeout %s: want a positive time, such as 1m", timeout))
			}
			b, err := bucket.OpenURL(args[0], cfg)
			if err != nil {
				return cli.WrongUsage(err)
			}
			if d, ok := b.(*bucket.Dir); ok {
				if err := d.Exists(); err != nil {
					return fmt.Errorf("check %s: %w", args[0], err)
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return printProbe(cmd.OutOrStdout(), output, b, bucket.Probe(ctx, b))
		},
	}
	fs := cmd.Flags()
	config.S3Flags(fs, &cfg.S3, "")
	fs.DurationVar(&timeout, "timeout", time.Minute, "`TIME` for all requests together")
	cli.ListOutput(cmd, &output)
	return cmd
}

// probeResult is the output of a check.
type probeResult struct {
	Location string `json:"location" yaml:"location"`
	// Credentials says which credentials were used, without the secret. It is empty for a directory.
	Credentials string      `json:"credentials,omitempty" yaml:"credentials,omitempty"`
	OK          bool        `json:"ok" yaml:"ok"`
	Steps       []probeStep `json:"steps" yaml:"steps"`
}

type probeStep struct {
	Step string `json:"step" yaml:"step"`
	// Result is ok, warning or failed.
	Result       string  `json:"result" yaml:"result"`
	Milliseconds float64 `json:"milliseconds" yaml:"milliseconds"`
	Reason       string  `json:"reason,omitempty" yaml:"reason,omitempty"`
}

// printProbe prints the steps of a probe. If one failed, the exit status is 1.
func printProbe(w io.Writer, output string, b bucket.Bucket, steps []bucket.Step) error {
	result := probeResult{Location: b.Location(), Credentials: bucket.Credentials(b), OK: true}
	for _, s := range steps {
		step := probeStep{Step: s.Name, Result: "ok", Milliseconds: float64(s.Took.Microseconds()) / 1000}
		if s.Err != nil {
			step.Result, step.Reason = "failed", s.Err.Error()
			if errors.Is(s.Err, context.DeadlineExceeded) {
				step.Reason += " (see --timeout)"
			}
			if s.Minor {
				step.Result = "warning"
			} else {
				result.OK = false
			}
		}
		result.Steps = append(result.Steps, step)
	}
	err := cli.PrintList(w, output, result, func(w io.Writer) { printProbeTable(w, &result) })
	if err == nil && !result.OK {
		return cli.ExitWith(cli.ExitFailed)
	}
	return err
}

func printProbeTable(w io.Writer, r *probeResult) {
	words := map[string]string{"ok": "ok", "warning": "warning", "failed": "FAILED"}
	for _, s := range r.Steps {
		fmt.Fprintf(w, "%s\t%s\t%.0f ms\n", words[s.Result], s.Step, s.Milliseconds)
	}
	for _, s := range r.Steps {
		if s.Reason != "" {
			fmt.Fprintf(w, "\n%s: %s: %s\n", words[s.Result], s.Step, s.Reason)
		}
	}
	if r.Credentials != "" {
		fmt.Fprintf(w, "\ncredentials: %s\n", r.Credentials)
	}
	if r.OK {
		fmt.Fprintf(w, "\n%s can keep objects of cordwood.\n", r.Location)
	} else {
		fmt.Fprintf(w, "\n%s cannot keep objects of cordwood.\n", r.Location)
	}
}
