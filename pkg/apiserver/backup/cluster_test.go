// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/orphans"
)

func projectObject(name, uid string) Object {
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	project.Spec.Namespace = new("garden-" + name)
	return Object{Object: project, Meta: project}
}

// ownedBy returns a namespace with owners, each as API version, kind, name and uid.
func ownedBy(name string, owners ...[4]string) corev1.Namespace {
	namespace := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, owner := range owners {
		namespace.OwnerReferences = append(namespace.OwnerReferences, metav1.OwnerReference{
			APIVersion: owner[0], Kind: owner[1], Name: owner[2], UID: types.UID(owner[3]),
		})
	}
	return namespace
}

func TestCompare(t *testing.T) {
	const v = "core.gardener.cloud/v1beta1"
	going := ownedBy("garden-going", [4]string{v, "Project", "going", "9"})
	going.DeletionTimestamp = new(metav1.Now())
	deleted := projectObject("deleted", "4")
	deleted.Meta.SetDeletionTimestamp(new(metav1.Now()))
	orphan := ownedBy("garden-late")
	orphan.Labels, orphan.Annotations = map[string]string{gardenerv1beta1.LabelProjectName: "late"}, map[string]string{gardenerv1beta1.AnnotationProjectUID: "8"}
	known := ownedBy("garden-kept-too")
	known.Labels, known.Annotations = map[string]string{gardenerv1beta1.LabelProjectName: "kept"}, map[string]string{gardenerv1beta1.AnnotationProjectUID: "1"}
	objects, namespaces := []Object{projectObject("kept", "1"), projectObject("again", "2"), projectObject("new", "3"), deleted},
		[]corev1.Namespace{
			ownedBy("default"),
			ownedBy("garden-kept", [4]string{v, "Project", "kept", "1"}),
			ownedBy("garden-again", [4]string{v, "Project", "again", "1"}),
			ownedBy("garden-young", [4]string{v, "Project", "young", "7"}),
			ownedBy("other-version", [4]string{"core.gardener.cloud/v1", "Project", "young", "7"}),
			ownedBy("other-group", [4]string{"example.com/v1", "Project", "young", "7"}),
			ownedBy("other-kind", [4]string{v, "Shoot", "young", "7"}),
			ownedBy("garden-adopted"),
			going,
			orphan,
			known,
		}
	want := Comparison{
		Lost: []Lost{
			{Namespace: "garden-again", Project: "again", UID: "1", Has: "2"},
			{Namespace: "garden-young", Project: "young", UID: "7"},
			{Namespace: "other-version", Project: "young", UID: "7"},
		},
		Missing: []string{"garden-new"},
		Orphans: []orphans.Orphan{{Namespace: "garden-late", Project: "late", UID: "8"}},
	}
	kluster := kubernikusv1.SchemeGroupVersion
	if diff := cmp.Diff(want, Compare([]schema.GroupVersion{gardenerv1beta1.SchemeGroupVersion, kluster}, objects, namespaces)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// The Projects of the cluster are a Gardener's: so are their namespaces.
	if diff := cmp.Diff(Comparison{}, Compare([]schema.GroupVersion{kluster}, objects, namespaces)); diff != "" {
		t.Errorf("beside a Gardener, -want +got:\n%s", diff)
	}
}

func TestServing(t *testing.T) {
	served := []schema.GroupVersion{gardenerv1beta1.SchemeGroupVersion, kubernikusv1.SchemeGroupVersion}
	cluster := fake.NewClientset()
	if got, err := Serving(cluster, served); got != "" || err != nil {
		t.Errorf("no server: %q, %v", got, err)
	}
	cluster.Resources = []*metav1.APIResourceList{{GroupVersion: schema.GroupVersion{Group: "core.gardener.cloud", Version: "v1beta1"}.String()}}
	if got, err := Serving(cluster, served); got != "core.gardener.cloud/v1beta1" || err != nil {
		t.Errorf("a server runs: %q, %v", got, err)
	}
	if got, err := Serving(cluster, served[1:]); got != "" || err != nil {
		t.Errorf("a Gardener serves its Projects: %q, %v", got, err)
	}
}
