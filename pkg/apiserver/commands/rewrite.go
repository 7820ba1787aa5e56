// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/flowcontrol"

	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/process"
)

// defaultWritesPerSecond leaves etcd to the servers.
const defaultWritesPerSecond = 50

// rewriteOptions are the flags of "rewrite-storage".
type rewriteOptions struct {
	storage *storageOptions
	qps     float32
}

// Rewrite returns the command that writes every stored object again: in the current version, with the current encryption.
func Rewrite(ctx context.Context) *cobra.Command {
	o := &rewriteOptions{}
	command := &cobra.Command{
		Use:   "rewrite-storage",
		Short: "Rewrite every object that is not stored with today's encoding and the first encryption provider",
		Long: `Rewrite every object that is not stored with today's encoding and the first encryption provider.

The server may run meanwhile. All replicas must have the new key as their first one; otherwise they keep writing with another
one. A second run continues where the first one ended: objects that are current are read and not written. When it reports that
0 objects were written, no object needs an older key or encoding.`,
		Args:         process.NoArgs,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if o.qps <= 0 {
				return errors.New("--writes-per-second must be more than 0")
			}
			if err := o.storage.validate(); err != nil {
				return err
			}
			return o.run(ctx, command)
		},
	}
	o.storage = newStorageOptions(command)
	command.Flags().Float32Var(&o.qps, "writes-per-second", defaultWritesPerSecond, "How many objects are written in a second at most.")
	return command
}

func (o *rewriteOptions) run(ctx context.Context, command *cobra.Command) error {
	store, closeStore, err := o.storage.open(ctx, shared)
	if err != nil {
		return err
	}
	defer closeStore()
	reportProgress := func(r backup.Rewritten) {
		notef(command, "%d of %d objects: %d written, %d were current, %d were deleted meanwhile, %d failed",
			r.Written+r.Current+r.Deleted+len(r.Failed), r.Total, r.Written, r.Current, r.Deleted, len(r.Failed))
	}
	r, err := backup.Rewrite(ctx, *store, flowcontrol.NewTokenBucketRateLimiter(o.qps, 1), reportProgress)
	reportProgress(r)
	return err
}
