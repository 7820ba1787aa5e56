// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// Inspect reads the state of the installation.
func (u *Uninstaller) Inspect(ctx context.Context) (*Found, error) {
	f := &Found{Contents: map[string]Content{}}
	registrations, err := u.registrations(ctx)
	if err != nil {
		return nil, err
	}
	f.Served = sets.New[string]()
	for _, r := range registrations {
		f.Registrations = append(f.Registrations, r.String())
		if r.group != "" {
			f.Served.Insert(r.group)
		}
		if r.unavailable != "" {
			f.Unavailable = append(f.Unavailable, r.name+": "+r.unavailable)
		}
	}
	if len(f.Unavailable) > 0 && len(f.Unavailable) == f.Served.Len() {
		if f.ServedBefore, err = u.servedBefore(ctx, registrations); err != nil {
			return nil, err
		}
		f.NeverServed = f.ServedBefore == ""
	}
	if f.Stranded, err = u.stranded(ctx); err != nil {
		return nil, err
	}
	var data []byte
	if u.ConfigFile != "" {
		if data, err = os.ReadFile(u.ConfigFile); err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
	}
	if f.Served.Len() > 0 {
		if f.Manager, err = InspectManager(ctx, u.Client, data); err != nil {
			return nil, err
		}
	}
	if len(f.Unavailable) == 0 {
		if err := u.inspectObjects(ctx, f); err != nil {
			return nil, err
		}
	}
	return f, u.inspectParts(ctx, f)
}

// inspectObjects reads the objects of Groundskeeper's API groups.
func (u *Uninstaller) inspectObjects(ctx context.Context, f *Found) (err error) {
	if f.Served.Has(gardenerv1beta1.GroupName) {
		if f.Projects, err = all[*gardenerv1beta1.Project](ctx, u.Client, &gardenerv1beta1.ProjectList{}); err != nil {
			return err
		}
		for _, p := range f.Projects {
			if namespace := p.NamespaceName(); namespace != "" {
				if f.Contents[namespace], err = u.content(ctx, namespace); err != nil {
					return err
				}
			}
		}
	}
	if f.Served.Has(kubernikusv1.GroupName) {
		if f.Klusters, err = all[*kubernikusv1.Kluster](ctx, u.Client, &kubernikusv1.KlusterList{}); err != nil {
			return err
		}
	}
	if f.Served.Has(gimbalv1.GroupName) {
		if f.Backends, err = all[*gimbalv1.DiscoveryBackend](ctx, u.Client, &gimbalv1.DiscoveryBackendList{}); err != nil {
			return err
		}
	}
	if f.Served.Has(midonetv1.GroupName) {
		f.Translations, err = u.metadataOf(ctx, midonetv1.SchemeGroupVersion.WithResource("translations"), metav1.NamespaceAll, "")
	}
	return err
}

// inspectParts finds what the installation is made of, and the objects of others that it keeps.
func (u *Uninstaller) inspectParts(ctx context.Context, f *Found) error {
	hooked, err := u.hooked(ctx)
	if err != nil {
		return err
	}
	for _, p := range hooked {
		f.Hooked = append(f.Hooked, p.String())
	}
	slices.Sort(f.Hooked)
	parts, unlisted, err := u.parts(ctx)
	if err != nil {
		return err
	}
	f.Unlisted = unlisted
	for _, p := range parts {
		f.Parts = append(f.Parts, p.String())
	}
	namespaces, err := u.metadataOf(ctx, namespaceResource, metav1.NamespaceAll, partOf+"="+product)
	if err != nil {
		return err
	}
	for i := range namespaces {
		name := namespaces[i].Name
		f.Namespaces = append(f.Namespaces, name)
		if f.Contents[name], err = u.content(ctx, name); err != nil {
			return err
		}
	}
	slices.Sort(f.Namespaces)
	return nil
}

var namespaceResource = corev1.SchemeGroupVersion.WithResource("namespaces")

// stranded returns the objects whose owner is an object of Groundskeeper that is no longer served: neither the garbage collector
// nor a controller can resolve the owner, and they remain.
func (u *Uninstaller) stranded(ctx context.Context) ([]string, error) {
	services := &metav1.PartialObjectMetadataList{}
	services.SetGroupVersionKind(apiServiceKind)
	if err := u.Client.List(ctx, services); err != nil {
		return nil, fmt.Errorf("list APIServices: %w", err)
	}
	missing := groups()
	for i := range services.Items {
		_, group, _ := strings.Cut(services.Items[i].Name, ".")
		missing.Delete(group)
	}
	names, err := u.ownedBy(ctx, missing)
	if err != nil || !missing.Has(gardenerv1beta1.GroupName) {
		return names, err
	}
	roles, err := u.rolesOfProjects(ctx)
	return append(names, roles...), err
}

// rolesOfProjects returns the cluster roles that were created for Projects. They have no owner: the controller of Projects
// deletes them, and cannot when it does not know the Projects.
func (u *Uninstaller) rolesOfProjects(ctx context.Context) (names []string, err error) {
	kind := rbacv1.SchemeGroupVersion.WithResource("clusterroles")
	found, err := u.metadataOf(ctx, kind, metav1.NamespaceAll, gardenerv1beta1.LabelProjectName)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].Annotations[gardenerv1beta1.AnnotationCreatedForProject] != "" {
			names = append(names, kind.Resource+" "+nameOf(&found[i]))
		}
	}
	return names, nil
}

// content counts what users have in a namespace, and checks whether it is being deleted.
func (u *Uninstaller) content(ctx context.Context, namespace string) (Content, error) {
	var c Content
	for _, kind := range []struct {
		resource string
		count    *int
	}{{"pods", &c.Pods}, {"persistentvolumeclaims", &c.Claims}, {"secrets", &c.Secrets}} {
		found, err := u.metadataOf(ctx, corev1.SchemeGroupVersion.WithResource(kind.resource), namespace, "")
		if err != nil {
			return c, err
		}
		*kind.count = len(found)
	}
	object, err := u.Metadata.Resource(namespaceResource).Get(ctx, namespace, metav1.GetOptions{})
	c.Terminating = err == nil && !object.DeletionTimestamp.IsZero()
	return c, client.IgnoreNotFound(err)
}

// Found is what there is of an installation.
type Found struct {
	// Registrations are those of Groundskeeper, as "kind name". Served are the groups of the APIServices among them: objects of
	// other groups are served by another server, or not any more.
	Registrations []string
	Served        sets.Set[string]
	// Unavailable are APIServices of Groundskeeper that are unavailable, with the reason.
	Unavailable []string
	// NeverServed reports whether none of them ever responded, so that there are no objects. ServedBefore is the evidence against
	// it, if none of them responds.
	NeverServed  bool
	ServedBefore string
	// Stranded are objects whose owner is no longer served.
	Stranded []string
	Manager  Manager

	Projects     []*gardenerv1beta1.Project
	Klusters     []*kubernikusv1.Kluster
	Backends     []*gimbalv1.DiscoveryBackend
	Translations []metav1.PartialObjectMetadata
	// Contents are those of the namespaces of Projects and of the installation.
	Contents map[string]Content
	// Hooked are objects of Cluster API that wait for a Deorbit, as "resource namespace/name".
	Hooked []string
	// Namespaces are those of the installation, Parts all else that it is made of, as "resource namespace/name".
	Namespaces, Parts []string
	// Unlisted are groups and resources of the cluster that are unavailable, so that their objects are unknown.
	Unlisted []string
}

// Content is what users have in a namespace. Terminating reports that it is being deleted already.
type Content struct {
	Pods, Claims, Secrets int
	Terminating           bool
}

// mayHook reports whether a controller may keep objects of Cluster API again, or is to release them.
func (f *Found) mayHook() bool {
	return f.Manager.Silent == "" && (f.Manager.Config == nil || f.Manager.Runs(controllerClusterAPI))
}

func (f *Found) convertsTranslations() bool {
	return f.Served.Has(midonetv1.GroupName) && f.Manager.Runs(controllerConvert)
}

// stopsConverter reports whether the controller that creates Translations has to be stopped. Where an earlier run was left, the
// Deployment has the configuration without it already, and a pod of before may still be at work.
func (f *Found) stopsConverter() bool {
	return f.convertsTranslations() || f.Served.Has(midonetv1.GroupName) && f.Manager.Reconfigured && f.Manager.Silent == ""
}

// withdrawsKlusters reports whether announcements are withdrawn, and waited for, before their Klusters are deleted.
func (f *Found) withdrawsKlusters(o Options) bool {
	return f.Served.Has(kubernikusv1.GroupName) && o.Klusters != Deorbit && f.Manager.Runs(controllerAnnounce)
}

// empty reports whether nothing is installed.
func (f *Found) empty() bool {
	return len(f.Registrations)+len(f.Namespaces)+len(f.Parts) == 0
}
