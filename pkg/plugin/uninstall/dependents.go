// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// dependentKinds are the kinds that Groundskeeper's controllers create with an owner reference to its objects.
func dependentKinds() []schema.GroupVersionResource {
	core, rbac := corev1.SchemeGroupVersion, rbacv1.SchemeGroupVersion
	return []schema.GroupVersionResource{
		core.WithResource("namespaces"), core.WithResource("resourcequotas"), core.WithResource("serviceaccounts"),
		rbac.WithResource("clusterroles"), rbac.WithResource("clusterrolebindings"), rbac.WithResource("rolebindings"),
		appsv1.SchemeGroupVersion.WithResource("deployments"), coordinationv1.SchemeGroupVersion.WithResource("leases"),
	}
}

// ownedBy are the objects of these kinds with an owner of one of the groups.
func (u *Uninstaller) ownedBy(ctx context.Context, groups sets.Set[string]) (names []string, err error) {
	if groups.Len() == 0 {
		return nil, nil
	}
	for _, kind := range dependentKinds() {
		found, err := u.metadataOf(ctx, kind, metav1.NamespaceAll, "")
		if err != nil {
			return nil, err
		}
		for i := range found {
			if slices.ContainsFunc(found[i].OwnerReferences, func(ref metav1.OwnerReference) bool {
				owner, err := schema.ParseGroupVersion(ref.APIVersion)
				return err == nil && groups.Has(owner.Group)
			}) {
				names = append(names, kind.Resource+" "+nameOf(&found[i]))
			}
		}
	}
	return names, nil
}

// waitForDependents waits until the garbage collector has deleted the dependents of Groundskeeper's objects. Without the API it
// cannot check whether the owners have been deleted.
func (u *Uninstaller) waitForDependents(ctx context.Context, served sets.Set[string]) (string, error) {
	err := u.until(ctx, "what belonged to them", func(ctx context.Context) (left, error) {
		names, err := u.ownedBy(ctx, served)
		return left{names, "the garbage collector of Kubernetes deletes them"}, err
	})
	if err != nil || !served.Has(kubernikusv1.GroupName) {
		return "", err
	}
	return "", u.cleanSecrets(ctx)
}

// cleanSecrets deletes the Secrets that announced Klusters, and lets those go that Klusters used. Where the controllers of
// Klusters run there are none.
func (u *Uninstaller) cleanSecrets(ctx context.Context) error {
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	found, err := u.metadataOf(ctx, secrets, metav1.NamespaceAll, "")
	if err != nil {
		return err
	}
	for i := range found {
		s := &found[i]
		if s.Labels[labelKluster] != "" {
			if err := u.remove(ctx, secrets, s.Namespace, s.Name, string(s.UID), metav1.DeletePropagationBackground); err != nil {
				return err
			}
		}
		if !slices.Contains(s.Finalizers, kubernikusv1.SecretInUseFinalizer) {
			continue
		}
		s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		if err := u.removeFinalizers(ctx, s, []string{kubernikusv1.SecretInUseFinalizer}); err != nil {
			return err
		}
	}
	return nil
}

// mustBeEmpty fails when an object of Groundskeeper was created after all had been deleted: it would become unreachable.
func (u *Uninstaller) mustBeEmpty(ctx context.Context, served sets.Set[string]) error {
	for _, kind := range []schema.GroupVersionResource{
		gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), kubernikusv1.SchemeGroupVersion.WithResource("klusters"),
		gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), midonetv1.SchemeGroupVersion.WithResource("translations"),
	} {
		if !served.Has(kind.Group) {
			continue
		}
		found, err := u.metadataOf(ctx, kind, metav1.NamespaceAll, "")
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("%s %s was created meanwhile: stop the client that created it, and repeat the same command", kind.Resource, nameOf(&found[0]))
		}
	}
	return nil
}
