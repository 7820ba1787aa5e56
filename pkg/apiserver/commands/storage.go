// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package commands has the subcommands of groundskeeper-apiserver that work on its store: export, import and
// rewrite-storage.
package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"groundskeeper.io/groundskeeper/pkg/apiserver"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/apiserver/embeddedetcd"
)

// storageOptions configure where a server stores its objects. They are flags of the server.
type storageOptions struct {
	etcd        *genericoptions.EtcdOptions
	embeddedDir string
}

// newStorageOptions binds the options to flags of a command.
func newStorageOptions(command *cobra.Command) *storageOptions {
	fs := command.Flags()
	o := &storageOptions{etcd: apiserver.NewOptions().Etcd}
	o.etcd.AddFlags(fs)
	fs.StringVar(&o.embeddedDir, "embedded-etcd-dir", "", "Directory of the etcd inside the server. Used when --etcd-servers is not given.")
	// Flags of the server that mean nothing here are taken, so that its arguments can be copied.
	for _, name := range []string{
		"delete-collection-workers", "enable-garbage-collector", "etcd-compaction-interval", "etcd-count-metric-poll-period",
		"etcd-db-metric-poll-interval", "etcd-healthcheck-timeout", "etcd-readycheck-timeout", "etcd-servers-overrides",
		"lease-reuse-duration-seconds", "storage-backend", "watch-cache", "watch-cache-sizes", "encryption-provider-config-automatic-reload",
	} {
		if err := fs.MarkHidden(name); err != nil {
			panic(err) // a mistake in the list
		}
	}
	return o
}

func (o *storageOptions) validate() error {
	servers := o.etcd.StorageConfig.Transport.ServerList
	var errs []error
	switch {
	case len(servers) > 0 && o.embeddedDir != "":
		errs = append(errs, errors.New("--etcd-servers and --embedded-etcd-dir exclude each other: give the one that the server has"))
	case len(servers) == 0 && o.embeddedDir == "":
		errs = append(errs, errors.New("there is no etcd: give --etcd-servers or --embedded-etcd-dir, as the server has it"))
	}
	if len(o.etcd.EtcdServersOverrides) > 0 {
		errs = append(errs, errors.New("--etcd-servers-overrides is not supported"))
	}
	return utilerrors.NewAggregate(errs)
}

// access is how a command uses an etcd inside a server.
type access int

const (
	// shared: that of the running server, or of the stopped one. There must be data.
	shared access = iota
	// exclusive: no server may run. A directory without data is initialized.
	exclusive
)

func (o *storageOptions) open(ctx context.Context, how access) (*backup.Store, func(), error) {
	release := func() {}
	if o.embeddedDir != "" {
		endpoint, stop, err := o.embedded(ctx, how)
		if err != nil {
			return nil, nil, err
		}
		o.etcd.StorageConfig.Transport.ServerList, release = []string{endpoint}, stop
	}
	store, closeStore, err := apiserver.OpenStore(ctx, o.etcd)
	if err != nil {
		release()
		return nil, nil, err
	}
	return store, func() { closeStore(); release() }, nil
}

func (o *storageOptions) embedded(ctx context.Context, how access) (string, func(), error) {
	config := embeddedetcd.Config{Dir: o.embeddedDir, OnlyErrors: true} // progress is reported, slow writes are not
	if how == shared {
		return embeddedetcd.Reach(ctx, config)
	}
	server, err := embeddedetcd.Start(ctx, config)
	if errors.Is(err, embeddedetcd.ErrInUse) {
		return "", nil, fmt.Errorf("%w: stop the server that uses it", err)
	}
	if err != nil {
		return "", nil, err
	}
	return server.Endpoint(), server.Stop, nil
}

// notef writes a line to standard error, because standard output is for the backup.
func notef(command *cobra.Command, format string, args ...any) {
	fmt.Fprintf(command.ErrOrStderr(), format+"\n", args...)
}

// describe returns the contents of a backup and its time.
func describe(header backup.Header) string {
	text := fmt.Sprintf("%d objects", header.Objects())
	separator := ": "
	for _, count := range header.Resources {
		text += fmt.Sprintf("%s%d %s", separator, count.Objects, count.Resource)
		separator = ", "
	}
	if header.Store == "" {
		return fmt.Sprintf("%s, of a store without id at revision %d", text, header.Revision)
	}
	return fmt.Sprintf("%s, of store %s at revision %d", text, header.Store, header.Revision)
}
