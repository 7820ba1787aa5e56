// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"groundskeeper.io/groundskeeper/pkg/apiserver"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/process"
)

type importOptions struct {
	storage        *storageOptions
	enablement     *genericoptions.APIEnablementOptions
	kubeconfig     string
	withoutCluster bool
	checkOnly      bool
	dryRun         bool
	allowInvalid   bool
	removeBindings bool
}

// Import returns the command that writes a backup into an empty store, after checking it against the cluster.
func Import(ctx context.Context) *cobra.Command {
	o := &importOptions{enablement: genericoptions.NewAPIEnablementOptions()}
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Read a file of \"export\" into an empty store",
		Long: `Read a file of "export" into an empty store. FILE may be - for standard input.

Nothing is written before the file is found to be whole and each of its objects valid, and before the namespaces of the
cluster were compared: one that belongs to a Project which the file lacks would be deleted by the garbage collector as soon
as a server runs. An import that was interrupted is taken up by another one of the same file; until one has come to its
end, no server serves the store.`,
		Args:         process.OneFile(false),
		SilenceUsage: true,
		RunE: func(command *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(ctx, command, args[0])
		},
	}
	o.storage = newStorageOptions(command)
	fs := command.Flags()
	fs.Var(&o.enablement.RuntimeConfig, "runtime-config",
		"As the server has it. Where core.gardener.cloud/v1beta1=false is in it, namespaces belong to Projects of another server, and are not "+
			"compared.")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "The cluster that the store is for. Empty in a pod: the cluster of the pod.")
	fs.BoolVar(&o.withoutCluster, "without-cluster", false,
		"Do not access the cluster: namespaces are not compared, and the store is not recorded. The server requires that you accept it.")
	fs.BoolVar(&o.checkOnly, "check-only", false, "Check the file and compare it with the cluster, and do nothing else. Needs no etcd.")
	fs.BoolVar(&o.dryRun, "dry-run", false, "Do all checks, those of the store too, and write nothing.")
	fs.BoolVar(&o.allowInvalid, "allow-invalid", false, "Import objects that creation would reject today. They are listed nevertheless.")
	fs.BoolVar(&o.removeBindings, "remove-bindings", false,
		"After the import, delete the role bindings that the members of Projects have which the backup lacks. Requires the permissions to "+
			"list, patch and delete rolebindings and clusterrolebindings.")
	return command
}

func (o *importOptions) validate() error {
	if o.withoutCluster && o.kubeconfig != "" {
		return errors.New("--kubeconfig and --without-cluster exclude each other")
	}
	if o.withoutCluster && o.removeBindings {
		return errors.New("--remove-bindings and --without-cluster exclude each other")
	}
	if o.checkOnly {
		return nil
	}
	return o.storage.validate()
}

func (o *importOptions) run(ctx context.Context, command *cobra.Command, path string) error {
	served, err := apiserver.Served(o.enablement)
	if err != nil {
		return err
	}
	cluster, err := o.cluster()
	if err != nil {
		return err
	}
	file, err := read(command.InOrStdin(), path)
	if err != nil {
		return fmt.Errorf("cannot import %s: %w", path, err)
	}
	notef(command, "%s: %s, written on %s by %s",
		path, describe(file.Header), file.Header.Time.Format("2006-01-02 15:04:05 MST"), file.Header.Program)
	objects, err := o.decode(ctx, command, file)
	if err != nil {
		return fmt.Errorf("cannot import %s: %w", path, err)
	}
	var comparison backup.Comparison
	if cluster != nil {
		if comparison, err = o.compare(ctx, command, cluster, served, objects); err != nil {
			return err
		}
	}
	if o.checkOnly {
		return nil
	}
	if err := o.fill(ctx, command, cluster, served, file, objects); err != nil || o.dryRun || !o.removeBindings {
		return err
	}
	return removeBindings(ctx, command, cluster, comparison, objects)
}

// read reads a file, or standard input, whole.
func read(in io.Reader, path string) (*backup.File, error) {
	if path == "-" {
		return backup.Read(in)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return backup.Read(file)
}

// decode reads the objects, and names those that cannot be imported.
func (o *importOptions) decode(ctx context.Context, command *cobra.Command, file *backup.File) ([]backup.Object, error) {
	resources, err := apiserver.Resources()
	if err != nil {
		return nil, err
	}
	objects, problems := backup.Decode(ctx, file, resources)
	for _, problem := range append(problems.Broken, problems.Invalid...) {
		notef(command, "%v", problem)
	}
	switch {
	case len(problems.Broken) > 0:
		return nil, fmt.Errorf("%d lines cannot be imported, named above", len(problems.Broken))
	case len(problems.Invalid) > 0 && !o.allowInvalid:
		return nil, fmt.Errorf("%d fields are not valid, named above; --allow-invalid imports them unchanged", len(problems.Invalid))
	}
	return objects, nil
}
