// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	fakemetadata "k8s.io/client-go/metadata/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// exact returns a client that enforces the preconditions of deletions, which the fake ignores.
func exact(store client.WithWatch) client.WithWatch {
	return interceptor.NewClient(store, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			found := object.DeepCopyObject().(client.Object)
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
				return err
			}
			if p := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions; p != nil && p.UID != nil && *p.UID != found.GetUID() {
				return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, object.GetName(), errors.New("precondition failed: the uid differs"))
			}
			return c.Delete(ctx, object, options...)
		},
	})
}

// gatedMetadata is a client of metadata behind a gate.
type gatedMetadata struct {
	metadata.Interface
	gate    *faulttest.Gate
	process int
}

func (m gatedMetadata) Resource(resource schema.GroupVersionResource) metadata.Getter {
	return gatedResource{m.Interface.Resource(resource), m, resource.Resource}
}

// gatedResource is one resource of it, of which lists and deletions are used.
type gatedResource struct {
	metadata.Getter
	client gatedMetadata
	name   string
}

func (r gatedResource) Namespace(namespace string) metadata.ResourceInterface {
	return gatedNamespace{r.Getter.Namespace(namespace), r.client, r.name + " of " + namespace}
}

type gatedNamespace struct {
	metadata.ResourceInterface
	client gatedMetadata
	name   string
}

func (n gatedNamespace) List(ctx context.Context, options metav1.ListOptions) (list *metav1.PartialObjectMetadataList, err error) {
	err = n.client.gate.Do(faulttest.Request{Verb: "list", Object: n.name}, n.client.process, func() error {
		list, err = n.ResourceInterface.List(ctx, options)
		return err
	})
	return list, err
}

func (n gatedNamespace) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	return n.client.gate.Do(faulttest.Request{Verb: "delete", Object: n.name + " " + name, Write: true}, n.client.process, func() error {
		// The fake ignores preconditions.
		found, err := n.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if p := options.Preconditions; p == nil || p.UID == nil || *p.UID != found.UID {
			return apierrors.NewConflict(schema.GroupResource{Resource: n.name}, name, errors.New("precondition failed: the uid differs"))
		}
		return n.ResourceInterface.Delete(ctx, name, options, subresources...)
	})
}

// controllers finish what was deleted. A Project waits for the Klusters in its namespace, which is deleted with it unless it is marked.
func controllers(t *testing.T, store *kubetest.Server) {
	t.Helper()
	for _, list := range []client.ObjectList{&kubernikusv1.KlusterList{}, &gimbalv1.DiscoveryBackendList{}, &gardenerv1beta1.ProjectList{}} {
		for name := range faulttest.Objects(t, store, list) {
			kind, key, _ := strings.Cut(name, " ")
			namespace, name, namespaced := strings.Cut(key, "/")
			if !namespaced {
				namespace, name = "", key
			}
			meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
			object := map[string]client.Object{
				"Kluster": &kubernikusv1.Kluster{ObjectMeta: meta}, "DiscoveryBackend": &gimbalv1.DiscoveryBackend{ObjectMeta: meta}, "Project": &gardenerv1beta1.Project{ObjectMeta: meta},
			}[kind]
			if !store.Find(object) || object.GetDeletionTimestamp().IsZero() {
				continue
			}
			if p, ok := object.(*gardenerv1beta1.Project); ok {
				if hasKlusters(t, store, p.NamespaceName()) {
					continue
				}
				ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.NamespaceName()}}
				if store.Find(ns) && ns.Annotations[gardenerv1beta1.AnnotationKeepNamespace] != "true" && ns.Annotations[gardenerv1beta1.AnnotationProjectUID] == string(p.UID) {
					store.Remove(ns)
				}
			}
			store.Change(object, func() { object.SetFinalizers(nil) })
		}
	}
}

func hasKlusters(t *testing.T, store *kubetest.Server, namespace string) bool {
	t.Helper()
	list := &kubernikusv1.KlusterList{}
	if err := store.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return len(list.Items) > 0
}

// TestEveryFault checks that an uninstallation that is repeated after each failure removes all objects and the parts of the
// installation, and neither a namespace that is to stay nor anything of others, whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Bubble: true, TakesAll: true, Steps: 20, Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		project := func(name string, change ...func(*metav1.ObjectMeta)) []client.Object {
			return []client.Object{
				&gardenerv1beta1.Project{ObjectMeta: named("", name, append(change, held(gardenerv1beta1.FinalizerName))...), Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-" + name)}},
				&corev1.Namespace{ObjectMeta: named("", "garden-"+name, func(m *metav1.ObjectMeta) {
					m.Annotations = map[string]string{gardenerv1beta1.AnnotationProjectUID: name}
				})},
			}
		}
		store := kubetest.New(t, slices.Concat(project("shop"), project("bank", func(m *metav1.ObjectMeta) { m.DeletionTimestamp = new(metav1.Now()) }), []client.Object{
			&kubernikusv1.Kluster{ObjectMeta: named("garden-shop", "web", held(kubernikusv1.DeorbiterFinalizer))},
			&kubernikusv1.Kluster{ObjectMeta: named("garden-bank", "web", held(kubernikusv1.DeorbiterFinalizer))},
			&gimbalv1.DiscoveryBackend{ObjectMeta: named("gimbal-discovery", "us", held(gimbalv1.FinalizerName))},
			&corev1.Namespace{ObjectMeta: named("", "others")},
		})...)
		first, parts := inCluster(t, []string{"v1 services", "apps/v1 deployments", "rbac.authorization.k8s.io/v1 clusterroles"},
			labelled("apps/v1", "Deployment", SystemNamespace, "manager"), labelled("v1", "Service", SystemNamespace, "webhook"), labelled("rbac.authorization.k8s.io/v1", "ClusterRole", "", "manager"),
			&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: named("shop", "web")})
		var u *Uninstaller
		restart := func() {
			u = &Uninstaller{
				Options: defaults, Client: g.Live(exact(store), store), Metadata: gatedMetadata{parts, g, g.Process()}, Discovery: first.Discovery,
				Why: func(context.Context, client.Object) string { return "" }, Done: func(string) {}, poll: time.Second,
				Show: func(string) { controllers(t, store) },
			}
			u.Timeout = 10 * time.Second
		}
		restart()
		namespaces := func() faulttest.Inventory { return faulttest.Objects(t, store, &corev1.NamespaceList{}) }
		before := namespaces()
		left := func() string {
			all := partsLeft(t, parts)
			for name := range faulttest.Objects(t, store, &kubernikusv1.KlusterList{}, &gimbalv1.DiscoveryBackendList{}, &gardenerv1beta1.ProjectList{}) {
				all = append(all, name)
			}
			return strings.Join(all, ", ")
		}
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				controllers(t, store)
				for _, s := range u.steps(installed(t)) {
					if !slices.Contains([]string{"mark namespaces that stay", "delete Klusters", "delete DiscoveryBackends", "delete Projects", "remove what runs"}, s.what) {
						continue
					}
					if _, err := s.do(ctx); err != nil {
						return err
					}
				}
				return nil
			},
			Restart: restart,
			Acts:    []faulttest.Act{{Name: "uninstall", Do: func() {}, Left: left}},
			Check: func() error {
				if _, err := parts.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace("shop").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
					return err
				}
				return faulttest.Living(before, namespaces(), nil)
			},
		}
	}}.Test(t)
}

// partsLeft returns the parts of the installation.
func partsLeft(t *testing.T, parts *fakemetadata.FakeMetadataClient) (names []string) {
	t.Helper()
	for _, resource := range []schema.GroupVersionResource{{Version: "v1", Resource: "services"}, {Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}} {
		list, err := parts.Resource(resource).List(t.Context(), metav1.ListOptions{LabelSelector: partOf + "=" + product})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			names = append(names, resource.Resource+" "+list.Items[i].Name)
		}
	}
	return names
}
