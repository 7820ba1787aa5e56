// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/util/flowcontrol"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
)

const (
	oldKey     = `aescbc: {keys: [{name: old, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}`
	newKey     = `aescbc: {keys: [{name: new, secret: MTIzNDU2Nzg5MGFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}`
	noKey      = `identity: {}`
	oldPrefix  = "k8s:enc:aescbc:v1:old:"
	newPrefix  = "k8s:enc:aescbc:v1:new:"
	boxPrefix  = "k8s:enc:secretbox:v1:box:"
	protobuf   = "k8s\x00"
	jsonObject = "{"
)

var unlimited = flowcontrol.NewFakeAlwaysRateLimiter()

// rewritten runs a rewrite, which must write what is to be written, and then a second one, which must write nothing.
func (s testStore) rewritten(t *testing.T, want int, prefix string) {
	t.Helper()
	for _, want := range []int{want, 0} {
		r, err := backup.Rewrite(t.Context(), *s.Store, unlimited, quiet)
		if err != nil || r.Written != want || r.Written+r.Current != r.Total || r.Deleted != 0 {
			t.Fatalf("%+v, %v, want %d written", r, err, want)
		}
	}
	s.begins(t, prefix)
}

// begins checks that every value in etcd, except those of claims, begins with the prefix.
func (s testStore) begins(t *testing.T, prefix string) {
	t.Helper()
	for key, value := range s.values(t) {
		if claim := strings.HasPrefix(key, "/claims/"); claim && !strings.HasPrefix(value, EtcdPrefix) || !claim && !strings.HasPrefix(value, prefix) {
			t.Errorf("%s is stored as %.40q", key, value)
		}
	}
}

// TestRewrite checks that keys are rotated: from no encryption to one kind, to another key, to another kind, and back to none.
func TestRewrite(t *testing.T) {
	plain := newStore(t, func(o *Options) { o.Etcd.DefaultStorageMediaType = runtime.ContentTypeJSON })
	for i := range 5 {
		must(t, plain.create(t, "Project", aProject(fmt.Sprint("p", i), fmt.Sprint("garden-p", i))))
	}
	must(t, plain.create(t, "DiscoveryBackend", aBackend("team", "us")))
	plain.begins(t, jsonObject)
	before := lines(t, plain.export(t))
	for _, step := range []struct {
		providers []string
		prefix    string
	}{
		{[]string{noKey}, protobuf},
		{[]string{oldKey, noKey}, oldPrefix},
		{[]string{newKey, oldKey}, newPrefix},
		{[]string{secretbox, newKey}, boxPrefix},
		{[]string{noKey, secretbox}, protobuf},
	} {
		openStore(t, plain.etcd, encrypted(t, step.providers...)).rewritten(t, 6, step.prefix)
	}
	// Without the keys of before, all of it is there.
	after := openStore(t, plain.etcd)
	if got := lines(t, after.export(t)); strings.Join(got, "") != strings.Join(before, "") {
		t.Errorf("objects are %v, before %v", got, before)
	}
}

// TestRewriteSkipsCurrentObjects checks that a new secondary key causes no writes.
func TestRewriteSkipsCurrentObjects(t *testing.T) {
	s := newStore(t, encrypted(t, oldKey))
	must(t, s.create(t, "Project", aProject("p", "garden-p")))
	before := s.values(t)
	openStore(t, s.etcd, encrypted(t, oldKey, newKey)).rewritten(t, 0, oldPrefix)
	if after := s.values(t); after["/core.gardener.cloud/projects/p"] != before["/core.gardener.cloud/projects/p"] {
		t.Error("the object was written")
	}
}

// TestRewriteWhileOthersWrite checks that concurrent writes and deletions are neither lost nor reverted, and that an interrupted
// rewrite continues.
func TestRewriteWhileOthersWrite(t *testing.T) {
	s := newStore(t, encrypted(t, oldKey, newKey))
	const n = 40
	for i := range n {
		must(t, s.create(t, "Project", aProject(fmt.Sprint("p", i), fmt.Sprint("garden-p", i))))
	}
	key := func(i int) string { return fmt.Sprint("/core.gardener.cloud/projects/p", i%n) }
	server := openStore(t, s.etcd, encrypted(t, newKey, oldKey))
	written, last := map[string]string{}, "" // of the last write it is open whether it was done
	stop := concurrently(t, func(ctx context.Context, i int) error {
		projects := server.resource(t, "Project").Store.Storage.Storage
		if i%n == n-1 { // it comes again as soon as it has been deleted
			if err := projects.Delete(ctx, key(i), &gardenerv1beta1.Project{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}); err != nil {
				return err
			}
			p := aProject(fmt.Sprint("p", i%n), fmt.Sprint("garden-p", i%n))
			return projects.Create(ctx, key(i), p, &gardenerv1beta1.Project{}, 0)
		}
		purpose := fmt.Sprint("write ", i)
		last = purpose
		err := projects.GuaranteedUpdate(ctx, key(i), &gardenerv1beta1.Project{}, false, nil, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			obj.(*gardenerv1beta1.Project).Spec.Purpose = &purpose
			return obj, nil
		}), nil)
		if err == nil {
			written[key(i)] = purpose
		}
		return err
	})
	// Cut off after three writes.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	limiter := &limit{left: 3, end: cancel, RateLimiter: unlimited}
	if _, err := backup.Rewrite(ctx, *server.Store, limiter, quiet); err == nil && limiter.left == 0 {
		t.Error("it ended well although it was cut off")
	}
	for range 3 {
		if r, err := backup.Rewrite(t.Context(), *server.Store, unlimited, quiet); err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	stop()
	server.rewritten(t, 0, newPrefix)
	objects, _ := decode(t, server.export(t))
	if len(objects) < n-1 {
		t.Errorf("%d objects are left", len(objects))
	}
	for _, object := range objects {
		purpose := ""
		if p := object.Object.(*gardenerv1beta1.Project).Spec.Purpose; p != nil {
			purpose = *p
		}
		if want := written[object.Key]; purpose != want && purpose != last {
			t.Errorf("%s: the last write was %q, it is %q", object, want, purpose)
		}
	}
}

// limit ends a rewrite after some writes.
type limit struct {
	flowcontrol.RateLimiter
	left int
	end  func()
}

// Wait implements flowcontrol.RateLimiter.
func (l *limit) Wait(ctx context.Context) error {
	if l.left--; l.left == 0 {
		l.end()
	}
	return ctx.Err()
}

// TestRewriteNamesUnreadableObjects checks that unreadable objects are named, and do not block others.
func TestRewriteNamesUnreadableObjects(t *testing.T) {
	s := newStore(t, encrypted(t, oldKey))
	must(t, s.create(t, "Project", aProject("lost", "garden-lost")))
	mixed := openStore(t, s.etcd)
	must(t, mixed.create(t, "Project", aProject("plain", "garden-plain")))
	server := openStore(t, s.etcd, encrypted(t, newKey, noKey))
	r, err := backup.Rewrite(t.Context(), *server.Store, unlimited, quiet)
	if err == nil || r.Written != 1 || len(r.Failed) != 1 || !strings.Contains(err.Error(), "1 of 2 objects") ||
		!strings.Contains(err.Error(), EtcdPrefix+"/core.gardener.cloud/projects/lost") {
		t.Errorf("%+v, %v", r, err)
	}
	if value := s.values(t)["/core.gardener.cloud/projects/plain"]; !strings.HasPrefix(value, newPrefix) {
		t.Errorf("the other one is stored as %.40q", value)
	}
}
