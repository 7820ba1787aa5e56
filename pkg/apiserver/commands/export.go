// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/process"
)

type exportOptions struct {
	storage   *storageOptions
	directory string
	keep      int
}

// Export returns the command that writes a backup of the store to a file, a directory or standard output.
func Export(ctx context.Context) *cobra.Command {
	o := &exportOptions{}
	command := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write a consistent snapshot of all objects to a file or to standard output",
		Long: `Write a consistent snapshot of all objects to a file or to standard output.

The server may run meanwhile; it needs the same flags for etcd and encryption. The file holds what users wrote, in plain
text: it is made for its owner alone (mode 0600). "groundskeeper-apiserver import" reads it.`,
		Example: `  groundskeeper-apiserver export --etcd-servers=https://etcd:2379 --etcd-cafile=ca.crt --etcd-certfile=tls.crt ` +
			"--etcd-keyfile=tls.key backup.jsonl\n" +
			"  kubectl exec -n groundskeeper-system deploy/groundskeeper-apiserver -- /groundskeeper-apiserver export " +
			"--embedded-etcd-dir=/var/lib/groundskeeper/etcd > backup.jsonl",
		Args:         process.OneFile(true),
		SilenceUsage: true,
		RunE: func(command *cobra.Command, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			return o.run(ctx, command, strings.Join(args, ""))
		},
	}
	o.storage = newStorageOptions(command)
	command.Flags().StringVar(&o.directory, "directory", "", "Write a file with the time in its name into this directory, instead of FILE.")
	command.Flags().IntVar(&o.keep, "keep", 0, "How many files --directory keeps: the oldest are removed when a new one is there. 0 keeps all.")
	const earlier = "folder" // its name in earlier versions, which CronJobs of users have
	command.Flags().StringVar(&o.directory, earlier, "", "")
	_ = command.Flags().MarkDeprecated(earlier, "its name is --directory now") // fails for unknown flags
	return command
}

func (o *exportOptions) validate(args []string) error {
	if o.directory != "" && len(args) > 0 {
		return errors.New("FILE and --directory exclude each other: give one of them")
	}
	if o.keep < 0 || o.keep > 0 && o.directory == "" {
		return errors.New("--keep is a number of files in --directory")
	}
	return o.storage.validate()
}

func (o *exportOptions) run(ctx context.Context, command *cobra.Command, path string) error {
	if o.directory != "" {
		o.tidy(command)
		path = filepath.Join(o.directory, backup.NameAt(time.Now()))
	}
	store, closeStore, err := o.storage.open(ctx, shared)
	if err != nil {
		return err
	}
	defer closeStore()
	var header backup.Header
	export := func(out io.Writer) (err error) {
		header, err = backup.Export(ctx, *store, out)
		return err
	}
	if path == "" || path == "-" {
		err = export(command.OutOrStdout())
	} else {
		err = backup.WriteFile(path, export)
	}
	if err != nil {
		return fmt.Errorf("cannot export: %w", err)
	}
	notef(command, "exported %s", describe(header))
	if o.keep == 0 {
		return nil
	}
	expired, err := backup.Expire(o.directory, o.keep)
	if len(expired) > 0 {
		notef(command, "removed %s", strings.Join(expired, ", "))
	}
	return err
}

// tidy removes abandoned files. A failure does not prevent the backup.
func (o *exportOptions) tidy(command *cobra.Command) {
	removed, err := backup.Tidy(o.directory, time.Now())
	if len(removed) > 0 {
		notef(command, "removed %s, of exports that were killed", strings.Join(removed, ", "))
	}
	if err != nil {
		notef(command, "cannot remove what exports that were killed left behind: %v", err)
	}
}
