// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// part is an object that the installation is made of.
type part struct {
	resource schema.GroupVersionResource
	metav1.ObjectMeta
}

func (p part) String() string {
	return p.resource.Resource + " " + strings.TrimPrefix(p.Namespace+"/"+p.Name, "/")
}

// kept are resources that are not deleted as parts: namespaces with claims are deleted last, as a whole; registrations are
// deleted unless they point to another server; the others are deleted with their owners.
func kept() sets.Set[string] {
	return sets.New("namespaces", "persistentvolumeclaims", "persistentvolumes", "events", "endpoints",
		"apiservices", "validatingwebhookconfigurations", "mutatingwebhookconfigurations")
}

// strict are groups of Kubernetes that the installation uses. They have to be available: what is in a group that is not is
// left behind.
func strict() sets.Set[string] {
	return sets.New("", "apps", "batch", "policy", "rbac.authorization.k8s.io", "networking.k8s.io", "coordination.k8s.io",
		"admissionregistration.k8s.io", "apiregistration.k8s.io", "apiextensions.k8s.io").Union(groups())
}

// parts returns all objects with the label of Groundskeeper, of every kind that the cluster has, in the order of their deletion.
// Other groups and resources that are unavailable are returned, because their objects are unknown.
func (u *Uninstaller) parts(ctx context.Context) (parts []part, unlisted []string, err error) {
	served, unlisted, err := u.resources(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, of := range served {
		if kept().Has(of.Resource) || groups().Has(of.Group) || !slices.Contains(of.verbs, "list") || !slices.Contains(of.verbs, "delete") {
			continue
		}
		objects, err := u.metadataOf(ctx, of.GroupVersionResource, metav1.NamespaceAll, partOf+"="+product)
		if fails(err) && !strict().Has(of.Group) {
			unlisted = append(unlisted, of.GroupResource().String())
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range objects {
			if metav1.GetControllerOf(&objects[i]) == nil { // otherwise it is deleted with its owner
				parts = append(parts, part{of.GroupVersionResource, objects[i].ObjectMeta})
			}
		}
	}
	slices.Sort(unlisted)
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(rank(a.resource)-rank(b.resource), strings.Compare(a.String(), b.String()))
	})
	return parts, unlisted, nil
}

// served is a resource that the cluster has, with what can be done with it.
type served struct {
	schema.GroupVersionResource
	verbs metav1.Verbs
}

// resources returns those that the cluster has, and other groups that are unavailable.
func (u *Uninstaller) resources(ctx context.Context) (all []served, unlisted []string, err error) {
	lists, err := u.Discovery.ServerPreferredResourcesWithContext(ctx)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, nil, err
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, nil, err
		}
		for _, resource := range list.APIResources {
			all = append(all, served{version.WithResource(resource.Name), resource.Verbs})
		}
	}
	for version := range failed {
		switch {
		case groups().Has(version.Group): // it may be unregistered by now
		case strict().Has(version.Group):
			return nil, nil, err
		default:
			unlisted = append(unlisted, version.String())
		}
	}
	return all, unlisted, nil
}

// fails reports whether the server cannot respond, for example because of a deleted webhook.
func fails(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// rank orders the deletion: first the objects that control others, then workloads, then the rest, and permissions last, since a pod
// that ends still gives its Lease back.
func rank(resource schema.GroupVersionResource) int {
	switch {
	case resource.Group == "admissionregistration.k8s.io":
		return 0
	case runs(resource):
		return 1
	case resource.Group == "rbac.authorization.k8s.io" && strings.HasSuffix(resource.Resource, "bindings"):
		return 4
	case resource.Group == "rbac.authorization.k8s.io" || resource.Resource == "serviceaccounts":
		return 3
	}
	return 2
}

func runs(resource schema.GroupVersionResource) bool {
	return resource.Group == "apps" || resource.Group == "batch"
}

// turn divides the parts whose turn it is: those of the lowest rank, and those that were seen with another uid. Something that
// still runs, such as a controller manager outside the Deployment, recreates them while it has permission: they are deleted
// each time, and not waited for.
func turn(parts []part, seen map[string]types.UID) (first, recreated []part) {
	for _, p := range parts {
		uid, known := seen[p.String()]
		switch {
		case known && uid != p.UID:
			recreated = append(recreated, p)
		case len(first) == 0 || rank(p.resource) == rank(first[0].resource):
			first = append(first, p)
		}
	}
	return first, recreated
}

// deleteParts deletes them, rank by rank. Workloads are deleted with their pods before their permissions. Each check lists
// again, and a failed one proves nothing about what remains.
func (u *Uninstaller) deleteParts(ctx context.Context) (string, error) {
	seen := map[string]types.UID{}
	var silent []string
	err := u.until(ctx, "parts of the installation", func(ctx context.Context) (left, error) {
		parts, unlisted, err := u.parts(ctx)
		if err != nil {
			return left{}, err
		}
		silent = unlisted
		first, recreated := turn(parts, seen)
		var l left
		for _, p := range slices.Concat(first, recreated) {
			if p.DeletionTimestamp.IsZero() {
				if err := u.remove(ctx, p.resource, p.Namespace, p.Name, string(p.UID), metav1.DeletePropagationForeground); err != nil {
					return left{}, err
				}
			}
		}
		for _, p := range first {
			seen[p.String()] = p.UID
			l.names = append(l.names, p.String())
			if runs(p.resource) {
				l.why = "their pods end"
			}
		}
		return l, nil
	})
	if err != nil || len(seen)+len(silent) == 0 {
		return "", err
	}
	line := fmt.Sprintf("%d objects of the installation have been deleted", len(seen))
	if len(silent) > 0 {
		line += ", but these groups and resources of the cluster are unavailable, and may have more: " + strings.Join(silent, ", ")
	}
	return line, nil
}

// dependentKinds returns the kinds that Groundskeeper's controllers create with an owner reference to its objects.
func dependentKinds() []schema.GroupVersionResource {
	core, rbac := corev1.SchemeGroupVersion, rbacv1.SchemeGroupVersion
	return []schema.GroupVersionResource{
		core.WithResource("namespaces"), core.WithResource("resourcequotas"), core.WithResource("serviceaccounts"),
		rbac.WithResource("clusterroles"), rbac.WithResource("clusterrolebindings"), rbac.WithResource("rolebindings"),
		appsv1.SchemeGroupVersion.WithResource("deployments"), coordinationv1.SchemeGroupVersion.WithResource("leases"),
	}
}

// ownedBy returns the objects of these kinds with an owner of one of the groups.
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

// cleanSecrets deletes the Secrets of announced Klusters, and removes the finalizers of those that Klusters used. If the controllers of
// Klusters run, there are none.
func (u *Uninstaller) cleanSecrets(ctx context.Context) error {
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	found, err := u.metadataOf(ctx, secrets, metav1.NamespaceAll, "")
	if err != nil {
		return err
	}
	for i := range found {
		s := &found[i]
		if s.Labels[clusterid.LabelUID] != "" {
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
			return fmt.Errorf("%s %s was created meanwhile: stop the client that created it, and repeat the same command", kind.Resource,
				nameOf(&found[0]))
		}
	}
	return nil
}
