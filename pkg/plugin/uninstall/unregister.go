// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UnregisterCommand frees a cluster whose namespaces cannot be deleted because the API server is lost.
const UnregisterCommand = "kubectl groundskeeper uninstall --force-unregister"

// Terminating is why the API server cannot be restored after its namespace was deleted, with what to do.
const Terminating = "namespace " + SystemNamespace + " is being deleted, so that no API server can be started in it, and its deletion waits " +
	"for the API: free the cluster with " + UnregisterCommand + ", and install again (docs/backup.md, if the store is lost)"

// Blocking returns the registrations that Unregister would delete, as "resource name".
func (u *Uninstaller) Blocking(ctx context.Context) ([]string, error) {
	all, err := u.registrations(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range blocking(all) {
		names = append(names, r.String())
	}
	return names, nil
}

// Unregister deletes the registrations that keep the cluster from deleting namespaces, and nothing else. The stored objects are not
// touched: they are served again once the APIServices are.
func (u *Uninstaller) Unregister(ctx context.Context) error {
	all, err := u.registrations(ctx)
	if err != nil {
		return err
	}
	for _, r := range blocking(all) {
		if err := u.remove(ctx, r.resource, "", r.name, r.uid, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		u.Done(fmt.Sprintf("%s has been deleted", r))
	}
	return nil
}

// blocking returns the APIServices that are known to be unavailable, and when no other is left, the webhooks as well: their server
// needs the API.
func blocking(all []registration) []registration {
	var services, webhooks []registration
	count := 0
	for _, r := range all {
		switch {
		case r.group == "":
			webhooks = append(webhooks, r)
			continue
		case r.down:
			services = append(services, r)
		}
		count++
	}
	if len(services) == 0 || len(services) < count {
		return services
	}
	return append(webhooks, services...)
}
