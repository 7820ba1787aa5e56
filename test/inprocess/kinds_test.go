// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

// kinds are the four kinds with a manifest each, a change of what is wanted and a status.
var kinds = []struct {
	resource  schema.GroupVersionResource
	namespace string
	manifest  string
	change    string
	status    string
	finalizer string
}{
	{
		gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), "",
		`{apiVersion: core.gardener.cloud/v1beta1, kind: Project, spec: {description: first}}`,
		`{"spec":{"description":"second"}}`, `{"status":{"phase":"Ready"}}`, gardenerv1beta1.FinalizerName,
	},
	{
		kubernikusv1.SchemeGroupVersion.WithResource("klusters"), "team",
		`{apiVersion: kubernikus.sap.cc/v1, kind: Kluster, spec: {name: short, version: 1.36.3}}`,
		`{"spec":{"version":"1.36.4"}}`, `{"status":{"phase":"Running"}}`, kubernikusv1.DeorbiterFinalizer,
	},
	{
		midonetv1.SchemeGroupVersion.WithResource("translations"), "team",
		`{apiVersion: midonet.org/v1, kind: Translation, resources: [{kind: Chain, parent: "", body: '{"id":"1"}'}]}`,
		`{"resources":[{"kind":"Chain","parent":"","body":"{\"id\":\"2\"}"}]}`, `{"status":{"observedGeneration":1}}`, midonetv1.FinalizerName,
	},
	{
		gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), "gimbal-discovery",
		`{apiVersion: gimbal.heptio.com/v1, kind: DiscoveryBackend, cluster: {type: KUBERNETES, secret: credentials}}`,
		`{"cluster":{"clusterStatus":"maintenance"}}`, `{"status":{"services":3}}`, gimbalv1.FinalizerName,
	},
}

// TestEachKindLivesAndDies runs the lifecycle of each kind: create, watch, change, status, replacement by the original manifest,
// delete.
func TestEachKindLivesAndDies(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.resource.Resource, func(t *testing.T) {
			objects, other := objectsOf(t, 0, kind.resource, kind.namespace), objectsOf(t, 1, kind.resource, kind.namespace)
			manifest := parse(t, kind.manifest)
			manifest.SetName(name(t, "life"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()

			made, err := objects.Create(ctx, withStatus(manifest), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			// Nothing of the status is the client's: it has only that the object is not ready.
			if made.GetGeneration() != 1 || len(withoutSummary(made)) != 0 || readyOf(made) != "Unknown" || !slices.Contains(made.GetFinalizers(), kind.finalizer) {
				t.Errorf("created with generation %d, status %v, finalizers %v", made.GetGeneration(), status(made), made.GetFinalizers())
			}
			events, err := other.Watch(ctx, metav1.ListOptions{ResourceVersion: made.GetResourceVersion(), FieldSelector: "metadata.name=" + made.GetName()})
			if err != nil {
				t.Fatal(err)
			}
			defer events.Stop()

			changed, err := objects.Patch(ctx, made.GetName(), types.MergePatchType, []byte(kind.change), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if changed.GetGeneration() != 2 {
				t.Errorf("generation %d after a change", changed.GetGeneration())
			}
			await(t, events, watch.Modified)

			both := merge(t, kind.status, `{"metadata":{"labels":{"sneaked":"in"}}}`)
			judged, err := objects.Patch(ctx, made.GetName(), types.MergePatchType, both, metav1.PatchOptions{}, "status")
			if err != nil {
				t.Fatal(err)
			}
			if len(status(judged)) == 0 || len(judged.GetLabels()) != 0 || judged.GetGeneration() != 2 {
				t.Errorf("a status update gave status %v, labels %v, generation %d", status(judged), judged.GetLabels(), judged.GetGeneration())
			}
			await(t, events, watch.Modified)

			replaced, err := objects.Update(ctx, asWritten(manifest, changed), metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(replaced.GetFinalizers(), kind.finalizer) || !apiequality.Semantic.DeepEqual(withoutSummary(replaced), withoutSummary(judged)) || readyOf(replaced) != "Unknown" {
				t.Errorf("a replaced manifest left finalizers %v and status %v", replaced.GetFinalizers(), status(replaced))
			}

			if err := other.Delete(ctx, made.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := objects.Patch(ctx, made.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			await(t, events, watch.Deleted)
			if _, err := objects.Get(ctx, made.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("after the deletion: %v", err)
			}
		})
	}
}

// TestStatusOfARecreatedObject checks that a write of the status with the uid of an object is not one of another object that was
// created with its name: a controller that has not seen yet that its object was deleted reports about that one.
func TestStatusOfARecreatedObject(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.resource.Resource, func(t *testing.T) {
			objects := objectsOf(t, 0, kind.resource, kind.namespace)
			manifest := parse(t, kind.manifest)
			manifest.SetName(name(t, "recreated"))
			made, err := objects.Create(t.Context(), manifest, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			reported := func(uid types.UID) *unstructured.Unstructured {
				o := parse(t, kind.manifest)
				o.SetName(made.GetName())
				if err := json.Unmarshal(merge(t, kind.status, `{}`), &o.Object); err != nil {
					t.Fatal(err)
				}
				o.SetUID(uid)
				return o
			}
			patched := func(uid types.UID) error {
				patch := merge(t, kind.status, fmt.Sprintf(`{"metadata":{"uid":%q}}`, uid))
				_, err := objects.Patch(t.Context(), made.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
				return err
			}
			applied := func(uid types.UID) error {
				o := reported(uid)
				for field := range o.Object {
					if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field) {
						delete(o.Object, field)
					}
				}
				_, err := objects.ApplyStatus(t.Context(), made.GetName(), o, metav1.ApplyOptions{FieldManager: "reporter", Force: true})
				return err
			}
			updated := func(uid types.UID) error {
				_, err := objects.UpdateStatus(t.Context(), reported(uid), metav1.UpdateOptions{})
				return err
			}
			for what, write := range map[string]func(types.UID) error{"merge patch": patched, "apply": applied, "update": updated} {
				if err := write("of-the-one-before"); !apierrors.IsConflict(err) {
					t.Errorf("%s with the uid of another object: %v", what, err)
				}
			}
			if now, err := objects.Get(t.Context(), made.GetName(), metav1.GetOptions{}); err != nil || len(withoutSummary(now)) > 0 {
				t.Errorf("it has the status %v: %v", status(now), err)
			}
			for what, write := range map[string]func(types.UID) error{"merge patch": patched, "apply": applied} {
				for _, uid := range []types.UID{made.GetUID(), ""} {
					if err := write(uid); err != nil {
						t.Errorf("%s with uid %q: %v", what, uid, err)
					}
				}
			}
		})
	}
}

// withoutSummary returns the status except for the conditions that the server writes.
func withoutSummary(o *unstructured.Unstructured) map[string]any {
	kept := status(o)
	list, _, _ := unstructured.NestedSlice(kept, "conditions")
	list = slices.DeleteFunc(list, func(c any) bool {
		kind, _, _ := unstructured.NestedString(c.(map[string]any), "type")
		return conditions.IsSummary(kind)
	})
	delete(kept, "conditions")
	if len(list) > 0 {
		kept["conditions"] = list
	}
	return kept
}

// readyOf returns the status of the condition Ready.
func readyOf(o *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == conditions.Ready {
			return fmt.Sprint(c["status"])
		}
	}
	return ""
}

// TestApplyIsIdempotent checks that applying a manifest twice writes once, because the applier owns no field that the server sets.
func TestApplyIsIdempotent(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.resource.Resource, func(t *testing.T) {
			objects := objectsOf(t, 0, kind.resource, kind.namespace)
			manifest := parse(t, kind.manifest)
			manifest.SetName(name(t, "applied"))
			first, err := objects.Apply(t.Context(), manifest.GetName(), manifest, metav1.ApplyOptions{FieldManager: "test"})
			if err != nil {
				t.Fatal(err)
			}
			second, err := objects.Apply(t.Context(), manifest.GetName(), manifest, metav1.ApplyOptions{FieldManager: "test"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first.Object, second.Object); diff != "" {
				t.Errorf("the second apply wrote (-first +second):\n%s", diff)
			}
		})
	}
}

// TestApplyOfAgreeingManagers checks that managers that apply the same manifest do not conflict, although the server adds members
// and normalizes values, and that a real difference is reported as a conflict.
func TestApplyOfAgreeingManagers(t *testing.T) {
	projects := objectsOf(t, 0, gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), "")
	for about, spec := range map[string]string{
		"roles are spelled in another way": `{"owner": {"kind": "User", "name": "anna"},
			"members": [{"kind": "User", "name": "anna", "roles": ["admin", "owner"]}, {"kind": "Group", "name": "team", "roles": ["viewer"]}, {"kind": "User", "name": "bob"}]}`,
		"the owner lacks its role": `{"owner": {"kind": "User", "name": "anna"}, "members": [{"kind": "User", "name": "anna", "role": "uam"}]}`,
	} {
		t.Run(about, func(t *testing.T) {
			manifest := parse(t, `{"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project", "spec": `+spec+`}`)
			manifest.SetName(name(t, "agree"))
			var first map[string]any
			for _, manager := range []string{"one", "one", "two", "one", "two"} {
				applied, err := projects.Apply(t.Context(), manifest.GetName(), manifest, metav1.ApplyOptions{FieldManager: manager})
				if err != nil {
					t.Fatalf("manager %s: %v", manager, err)
				}
				spec, _ := applied.Object["spec"].(map[string]any)
				if first == nil {
					first = spec
				}
				if diff := cmp.Diff(first, spec); diff != "" {
					t.Errorf("manager %s changed the spec (-first +now):\n%s", manager, diff)
				}
			}
			other := manifest.DeepCopy()
			members, _ := other.Object["spec"].(map[string]any)
			members["members"] = []any{map[string]any{"kind": "User", "name": "another"}}
			if _, err := projects.Apply(t.Context(), other.GetName(), other, metav1.ApplyOptions{FieldManager: "three"}); !apierrors.IsConflict(err) {
				t.Errorf("another list of members: error = %v, want a conflict", err)
			}
		})
	}
}

// TestProtobufAndJSONAgree checks that JSON and protobuf return the same objects.
func TestProtobufAndJSONAgree(t *testing.T) {
	ctx := t.Context()
	project := &gardenerv1beta1.Project{ObjectMeta: created(name(t, "codec")), Spec: gardenerv1beta1.ProjectSpec{Description: new("both")}}
	if _, err := client(t, 0, asProtobuf).GardenerV1beta1().Projects().Create(ctx, project, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	viaJSON, err := client(t, 1, asJSON).GardenerV1beta1().Projects().Get(ctx, project.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	viaProtobuf, err := client(t, 1, asProtobuf).GardenerV1beta1().Projects().Get(ctx, project.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !apiequality.Semantic.DeepEqual(viaJSON, viaProtobuf) {
		t.Errorf("(-JSON +protobuf):\n%s", cmp.Diff(viaJSON, viaProtobuf))
	}
}

func objectsOf(t *testing.T, server int, resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	t.Helper()
	c, err := dynamic.NewForConfig(servers[server])
	if err != nil {
		t.Fatal(err)
	}
	if namespace == "" {
		return c.Resource(resource)
	}
	return c.Resource(resource).Namespace(namespace)
}

func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// withStatus returns a manifest with a status, which a client cannot create.
func withStatus(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	object := manifest.DeepCopy()
	object.Object["status"] = map[string]any{"observedGeneration": int64(7)}
	return object
}

// asWritten returns the manifest as a user keeps it, except for what cannot go back: the version of the Kluster.
func asWritten(manifest, changed *unstructured.Unstructured) *unstructured.Unstructured {
	object := manifest.DeepCopy()
	if version, found, _ := unstructured.NestedString(changed.Object, "spec", "version"); found {
		_ = unstructured.SetNestedField(object.Object, version, "spec", "version")
	}
	return object
}

func status(object *unstructured.Unstructured) map[string]any {
	found, _, _ := unstructured.NestedMap(object.Object, "status")
	return found
}

func merge(t *testing.T, patches ...string) []byte {
	t.Helper()
	all := map[string]any{}
	for _, patch := range patches {
		if err := json.Unmarshal([]byte(patch), &all); err != nil {
			t.Fatal(err)
		}
	}
	merged, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

func await(t *testing.T, events watch.Interface, want watch.EventType) {
	t.Helper()
	for event := range events.ResultChan() {
		if event.Type == want {
			return
		}
		if event.Type == watch.Error {
			t.Fatalf("the watch failed: %v", event.Object)
		}
	}
	t.Fatalf("the watch ended before %s", want)
}
