// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"groundskeeper.io/groundskeeper/pkg/apiserver"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/apiserver/embeddedetcd"
	"groundskeeper.io/groundskeeper/pkg/apiserver/storeidentity"
)

// cluster returns a client of the cluster that the store is for, nil without a cluster.
func (o *importOptions) cluster() (kubernetes.Interface, error) {
	if o.withoutCluster {
		return nil, nil
	}
	config, err := apiserver.HostConfig(o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("%w; --without-cluster imports without access to the cluster", err)
	}
	return kubernetes.NewForConfig(config)
}

// compare rejects objects that would make the garbage collector delete namespaces, and reports those whose Project is missing.
func (o *importOptions) compare(
	ctx context.Context, command *cobra.Command, cluster kubernetes.Interface, served []schema.GroupVersion, objects []backup.Object,
) (backup.Comparison, error) {
	if !backup.ServesProjects(served) {
		notef(command, "Projects are those of another server (--runtime-config): no namespace was compared")
		return backup.Comparison{}, nil
	}
	namespaces, err := backup.Namespaces(ctx, cluster)
	if err != nil {
		return backup.Comparison{}, err
	}
	comparison := backup.Compare(served, objects, namespaces)
	for _, name := range comparison.Missing {
		notef(command, "namespace %s does not exist: its Project will get a new, empty one", name)
	}
	for _, lost := range comparison.Lost {
		notef(command, "%s: it would be deleted; to keep it, kubectl patch namespace %s --type=json "+
			"--patch='[{\"op\":\"remove\",\"path\":\"/metadata/ownerReferences\"}]'",
			lost, lost.Namespace)
	}
	if len(comparison.Lost) > 0 {
		return comparison, fmt.Errorf("the garbage collector would delete %d namespaces, named above: remove their owner references, or delete "+
			"the namespaces that are not needed. Where a Gardener owns the Projects, change nothing and pass the "+
			"--runtime-config of the server", len(comparison.Lost))
	}
	notef(command, "no namespace of the cluster would be deleted")
	for _, orphan := range comparison.Orphans {
		notef(command, "namespace %s %s", orphan.Namespace, orphan)
		bindings, err := backup.Bindings(ctx, cluster, orphan)
		switch {
		case err != nil && o.removeBindings:
			return comparison, fmt.Errorf("--remove-bindings: %w", err)
		case err != nil:
			notef(command, "namespace %s: which members keep their roles is unknown: %v", orphan.Namespace, err)
		case len(bindings) > 0 && o.removeBindings:
			notef(command, "namespace %s: the roles of its members are removed after the import: %s", orphan.Namespace, join(bindings))
		case len(bindings) > 0:
			notef(command, "namespace %s: its members keep their roles, unless --remove-bindings removes them: %s", orphan.Namespace, join(bindings))
		}
	}
	return comparison, nil
}

// removeBindings removes the roles of members of missing Projects. No server serves a Project that is newer than the import.
func removeBindings(
	ctx context.Context, command *cobra.Command, cluster kubernetes.Interface, comparison backup.Comparison, objects []backup.Object,
) error {
	for _, orphan := range comparison.Orphans {
		removed, err := backup.RemoveBindings(ctx, cluster, orphan, objects)
		if len(removed) > 0 {
			notef(command, "namespace %s: removed %s", orphan.Namespace, join(removed))
		}
		if err != nil {
			return fmt.Errorf("all objects are imported, but not all bindings of missing Projects are removed; delete those that were named above "+
				"with kubectl: %w", err)
		}
	}
	return nil
}

func join(bindings []backup.Binding) string {
	var names []string
	for _, binding := range bindings {
		names = append(names, binding.String())
	}
	return strings.Join(names, ", ")
}

// fill writes the objects into the store, and records the store in the cluster.
func (o *importOptions) fill(
	ctx context.Context, command *cobra.Command, cluster kubernetes.Interface, served []schema.GroupVersion, file *backup.File,
	objects []backup.Object,
) error {
	if cluster != nil {
		serving, err := backup.Serving(cluster, served)
		if err != nil {
			return err
		}
		if serving != "" {
			return fmt.Errorf("a server serves %s in the cluster: stop it before the import", serving)
		}
	}
	if o.dryRun && o.storage.embeddedDir != "" && !embeddedetcd.Exists(o.storage.embeddedDir) {
		notef(command, "dry run: %d objects would be written into a new etcd in %s", len(objects), o.storage.embeddedDir)
		return nil
	}
	store, closeStore, err := o.storage.open(ctx, exclusive)
	if err != nil {
		return err
	}
	defer closeStore()
	config := storeidentity.Config{KV: store.KV, Prefix: store.Prefix, Host: cluster}
	if o.dryRun {
		if err := storeidentity.CheckImport(ctx, config, file.Sum); err != nil {
			return fmt.Errorf("cannot import: %w", err)
		}
		notef(command, "dry run: %d objects would be written", len(objects))
		return nil
	}
	importing, err := storeidentity.BeginImport(ctx, config, file.Sum)
	if err != nil {
		return fmt.Errorf("cannot import: %w", err)
	}
	reportProgress := func(i backup.Imported) {
		notef(command, "%d of %d objects: %d written, %d were there", i.Created+i.Present, len(objects), i.Created, i.Present)
	}
	imported, err := backup.Import(ctx, *store, objects, reportProgress)
	reportProgress(imported)
	if err != nil {
		return fmt.Errorf("the import is not finished: %w", err)
	}
	record, err := importing.Finish(ctx)
	if err != nil {
		return fmt.Errorf("all objects are imported, but the store is not open to servers, import again: %w", err)
	}
	if cluster == nil {
		notef(command, "imported into store %s: if the cluster has recorded another store, the server reports which --accept-store it needs",
			record.ID)
		return nil
	}
	notef(command, "imported into store %s, which the cluster knows now (ConfigMap %s/%s): start the server", record.ID,
		storeidentity.Namespace, storeidentity.Name)
	return nil
}
