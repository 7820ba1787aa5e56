// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
)

const secretbox = `secretbox: {keys: [{name: box, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}`

// A backup has every kind that the server serves.
func TestResourcesAreComplete(t *testing.T) {
	resources, err := Resources()
	must(t, err)
	a, err := newAPI()
	must(t, err)
	want, got := map[string]bool{}, map[string]bool{}
	for _, gv := range a.served() {
		for kind := range a.scheme.KnownTypes(gv) {
			if single, list := strings.CutSuffix(kind, "List"); list && a.scheme.Recognizes(gv.WithKind(single)) {
				want[gv.WithKind(single).String()] = true
			}
		}
	}
	for _, resource := range resources {
		got[resource.String()] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 4 {
		t.Errorf("-served +in a backup:\n%s", diff)
	}
}

// TestExportAndImport checks that objects with every field set are equal after an export and an import into a store with another
// prefix, encoding and encryption, and that they reserve their names.
func TestExportAndImport(t *testing.T) {
	from := newStore(t, func(o *Options) { o.Etcd.DefaultStorageMediaType = runtime.ContentTypeJSON })
	for _, resource := range from.Resources {
		data, err := os.ReadFile("../apis/scheme/testdata/HEAD/" + resource.Group + "." + resource.Version + "." + resource.Kind + ".json")
		must(t, err)
		obj, _, err := resource.Decoder.Decode(data, nil, nil)
		must(t, err)
		m := obj.(metav1.Object)
		m.SetResourceVersion("")
		m.SetUID(types.UID("uid-of-the-" + resource.Kind))
		if !resource.Store.CreateStrategy.NamespaceScoped() {
			m.SetNamespace("")
		}
		must(t, from.create(t, resource.Kind, obj))
	}
	deleted := aProject("deleted", "garden-deleted")
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = new(metav1.Now().Rfc3339Copy()), new(int64(0))
	for _, p := range []*gardenerv1beta1.Project{aProject("living", "garden-living"), deleted} {
		must(t, from.create(t, "Project", p))
	}
	must(t, from.create(t, "DiscoveryBackend", aBackend("team", "us-east")))
	file := from.export(t)

	const prefix = "/elsewhere"
	to := newStore(t, encrypted(t, secretbox), func(o *Options) { o.Etcd.StorageConfig.Prefix = prefix })
	objects, problems := decode(t, file)
	if len(problems.Broken) > 0 {
		t.Fatal(problems.Broken)
	}
	imported, err := backup.Import(t.Context(), *to.Store, objects, quiet)
	if err != nil || imported != (backup.Imported{Created: 7}) {
		t.Fatalf("%+v, %v", imported, err)
	}
	again := to.export(t)
	if diff := cmp.Diff(lines(t, file), lines(t, again)); diff != "" {
		t.Errorf("-exported +imported and exported:\n%s", diff)
	}
	if !strings.Contains(strings.Join(lines(t, again), "\n"), `"deletionTimestamp"`) {
		t.Error("nothing is being deleted")
	}
	found, err := to.etcd.KV.Get(t.Context(), prefix+"/", clientv3.WithPrefix())
	must(t, err)
	claims := map[string]string{}
	for _, kv := range found.Kvs {
		if name, claim := strings.CutPrefix(string(kv.Key), prefix+"/claims/"); claim {
			claims[name] = string(kv.Value)
		} else if !bytes.HasPrefix(kv.Value, []byte("k8s:enc:secretbox:v1:box:")) {
			t.Errorf("%s is not encrypted", kv.Key)
		}
	}
	if claims["core.gardener.cloud/projects/garden-living/"] != prefix+"/core.gardener.cloud/projects/living" ||
		claims["gimbal.heptio.com/discoverybackends/us-east-"] != prefix+"/gimbal.heptio.com/discoverybackends/team/us-east" {
		t.Errorf("claims are %v", claims)
	}
	for name, err := range map[string]error{
		"namespace of a living Project":  to.create(t, "Project", aProject("thief", "garden-living")),
		"namespace of one being deleted": to.create(t, "Project", aProject("heir", "garden-deleted")),
		"name below another":             to.create(t, "DiscoveryBackend", aBackend("other", "us-east-1")),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExportIsOfOneRevision checks that, during writes, a backup has the objects of all kinds at one revision.
func TestExportIsOfOneRevision(t *testing.T) {
	s := newStore(t)
	kluster := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "k", UID: "uid-k", CreationTimestamp: metav1.Now()}}
	must(t, s.create(t, "Kluster", kluster))
	must(t, s.create(t, "Project", aProject("p", "garden-p")))
	count := func(ctx context.Context, kind, key string, i int) error {
		resource := s.resource(t, kind)
		return resource.Store.Storage.Storage.GuaranteedUpdate(ctx, key, resource.Store.NewFunc(), false, nil,
			storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
				obj.(metav1.Object).SetGeneration(int64(i))
				return obj, nil
			}), nil)
	}
	// The Kluster, which is exported last, is never behind the Project, and never more than one ahead.
	stop := concurrently(t, func(ctx context.Context, i int) error {
		if err := count(ctx, "Kluster", "/kubernikus.sap.cc/klusters/team/k", i); err != nil {
			return err
		}
		return count(ctx, "Project", "/core.gardener.cloud/projects/p", i)
	})
	for range 30 {
		generations := map[string]int64{}
		objects, _ := decode(t, s.export(t))
		for _, object := range objects {
			generations[object.Resource.Kind] = object.Meta.GetGeneration()
		}
		if ahead := generations["Kluster"] - generations["Project"]; (ahead < 0 || ahead > 1) && generations["Kluster"] > 1 {
			t.Errorf("two revisions in one backup: %v", generations)
		}
	}
	if n := stop(); n < 10 {
		t.Errorf("only %d writes meanwhile", n)
	}
}

// TestExportOfALaterVersion checks that objects of a later version abort the export, because they would be missing in the backup.
func TestExportOfALaterVersion(t *testing.T) {
	s := newStore(t)
	must(t, s.create(t, "Project", aProject("p", "garden-p")))
	_, err := s.etcd.Put(t.Context(), EtcdPrefix+"/new.example.com/things/a", "data")
	must(t, err)
	if _, err := backup.Export(t.Context(), *s.Store, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "3 keys") || !strings.Contains(err.Error(), "knows of 2") {
		t.Errorf("it reports %v", err)
	}
}

// An object that cannot be read aborts the export: a backup without it would appear to be complete.
func TestExportFailsForUnreadableObjects(t *testing.T) {
	etcd := newStore(t, encrypted(t, secretbox))
	must(t, etcd.create(t, "Project", aProject("p", "garden-p")))
	s := openStore(t, etcd.etcd)
	if _, err := backup.Export(t.Context(), *s.Store, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), EtcdPrefix+"/core.gardener.cloud/projects/p") {
		t.Errorf("it reports %v", err)
	}
}

// TestImportAgain checks that an interrupted import continues, and that an object that a user changed meanwhile is not mistaken for
// an imported one.
func TestImportAgain(t *testing.T) {
	from, to := newStore(t), newStore(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		must(t, from.create(t, "Project", aProject(name, "garden-"+name)))
	}
	objects, _ := decode(t, from.export(t))
	_, err := backup.Import(t.Context(), *to.Store, objects[:2], quiet)
	must(t, err)
	imported, err := backup.Import(t.Context(), *to.Store, objects, quiet)
	if want := (backup.Imported{Created: 2, Present: 2}); err != nil || imported != want {
		t.Errorf("%+v, %v", imported, err)
	}
	before := to.values(t)
	projects := to.resource(t, "Project").Store.Storage.Storage
	must(t, projects.GuaranteedUpdate(t.Context(), "/core.gardener.cloud/projects/b", &gardenerv1beta1.Project{}, false, nil,
		storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			obj.(*gardenerv1beta1.Project).Spec.Purpose = new("changed")
			return obj, nil
		}), nil))
	if _, err := backup.Import(t.Context(), *to.Store, objects, quiet); err == nil || !strings.Contains(err.Error(), `Project "b": the store has another object of this name`) {
		t.Errorf("it reports %v", err)
	}
	after := to.values(t)
	delete(before, "/core.gardener.cloud/projects/b")
	delete(after, "/core.gardener.cloud/projects/b")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("an import that wrote nothing changed the store:\n%s", diff)
	}
}
