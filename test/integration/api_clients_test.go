// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// typed is what a generated client of a kind can do.
type typed[T, L any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	UpdateStatus(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}

// TestTypedClients checks that the generated clients work through the aggregator in JSON and in protobuf, and that each reads what
// the other wrote.
func TestTypedClients(t *testing.T) {
	t.Parallel()
	namespace := freshNamespace(t, "typed")
	for _, writes := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		reads := map[string]string{runtime.ContentTypeJSON: runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf: runtime.ContentTypeJSON}[writes]
		writer, reader := speaking(t, writes), speaking(t, reads)
		meta := func() metav1.ObjectMeta { return metav1.ObjectMeta{Name: name(t, "typed")} }
		label := strings.TrimPrefix(writes, "application/")
		t.Run("Project/"+label, func(t *testing.T) {
			w, r := writer.GardenerV1beta1().Projects(), reader.GardenerV1beta1().Projects()
			lives(t, typed[*gardenerv1beta1.Project, *gardenerv1beta1.ProjectList](w), r, &gardenerv1beta1.Project{ObjectMeta: meta()},
				func(p *gardenerv1beta1.Project) { p.Spec.Purpose = new("changed") },
				func(p *gardenerv1beta1.Project) { p.Status.LastActivityTimestamp = new(metav1.Unix(1e9, 0)) })
		})
		t.Run("Kluster/"+label, func(t *testing.T) {
			w, r := writer.KubernikusV1().Klusters(namespace), reader.KubernikusV1().Klusters(namespace)
			lives(t, typed[*kubernikusv1.Kluster, *kubernikusv1.KlusterList](w), r, &kubernikusv1.Kluster{ObjectMeta: meta()},
				func(k *kubernikusv1.Kluster) { k.Spec.RouteGC = &kubernikusv1.RouteGCSpec{DryRun: new(true)} },
				func(k *kubernikusv1.Kluster) { k.Status.Phase = kubernikusv1.KlusterRunning })
		})
		t.Run("Translation/"+label, func(t *testing.T) {
			w, r := writer.MidonetV1().Translations(namespace), reader.MidonetV1().Translations(namespace)
			lives(t, typed[*midonetv1.Translation, *midonetv1.TranslationList](w), r, &midonetv1.Translation{ObjectMeta: meta()},
				func(o *midonetv1.Translation) {
					o.Resources = []midonetv1.BackendResource{{Kind: "Chain", Body: `{"id":"1"}`}}
				},
				func(o *midonetv1.Translation) { o.Status.ObservedGeneration = 2 })
		})
		t.Run("DiscoveryBackend/"+label, func(t *testing.T) {
			w, r := writer.GimbalV1().DiscoveryBackends(namespace), reader.GimbalV1().DiscoveryBackends(namespace)
			lives(t, typed[*gimbalv1.DiscoveryBackend, *gimbalv1.DiscoveryBackendList](w), r, backend(meta()),
				func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Namespaces.Deny = []string{"kube-system"} },
				func(b *gimbalv1.DiscoveryBackend) { b.Status.Services = new(int32(0)) })
		})
	}
}

// lives takes an object through its life: one client writes, the other one reads the same.
func lives[T client.Object, L runtime.Object](t *testing.T, writer, reader typed[T, L], object T, change, observe func(T)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	made, err := writer.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	only := metav1.ListOptions{FieldSelector: "metadata.name=" + made.GetName(), ResourceVersion: made.GetResourceVersion()}
	events, err := reader.Watch(ctx, only)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()

	update := func(put func(context.Context, T, metav1.UpdateOptions) (T, error), how func(T)) (updated T) {
		t.Helper()
		eventually(t, func(ctx context.Context) error { // Groundskeeper's controllers write too
			current, err := writer.Get(ctx, made.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			how(current)
			updated, err = put(ctx, current, metav1.UpdateOptions{})
			return err
		})
		return updated
	}
	if changed := update(writer.Update, change); changed.GetGeneration() != 2 {
		t.Errorf("generation %d after a change", changed.GetGeneration())
	}
	if observed := update(writer.UpdateStatus, observe); observed.GetGeneration() != 2 {
		t.Errorf("generation %d after a change of the status", observed.GetGeneration())
	}
	confirmed := []byte(`{"metadata":{"labels":{"last":"write"},"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`)
	patched, err := writer.Patch(ctx, made.GetName(), types.MergePatchType, confirmed, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := awaitLabel[T](t, events, "last")
	if diff := cmp.Diff(patched, seen); diff != "" {
		t.Errorf("watched (-written +read):\n%s", diff)
	}
	list, err := reader.List(ctx, metav1.ListOptions{FieldSelector: only.FieldSelector, LabelSelector: "last=write"})
	if err != nil {
		t.Fatal(err)
	}
	one, err := reader.Get(ctx, made.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if items := itemsOf[T](t, list); len(items) != 1 || items[0].GetUID() != made.GetUID() || one.GetUID() != made.GetUID() {
		t.Errorf("listed %v, read %v", items, one)
	}
	if err := writer.Delete(ctx, made.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}
