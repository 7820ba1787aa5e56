// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/apis/example/install"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/registry/generic"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
	"groundskeeper.io/groundskeeper/pkg/registry/etcd/etcdtest"
)

var pods = example.Resource("pods")

func newOptions(t *testing.T, servers ...string) *genericoptions.EtcdOptions {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)
	options := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/test-registry", codec))
	options.StorageConfig.Transport.ServerList = servers
	return options
}

// open builds the storage of pods as a registry store does.
func open(t *testing.T, getter *Getter) (storage.Interface, factory.DestroyFunc, error) {
	t.Helper()
	options, err := getter.GetRESTOptions(pods, &example.Pod{})
	if err != nil {
		return nil, nil, err
	}
	const root = "/example.apiserver.k8s.io/pods"
	return options.Decorator(options.StorageConfig, root,
		func(o runtime.Object) (string, error) { return root + "/" + o.(*example.Pod).Name, nil },
		func() runtime.Object { return &example.Pod{} }, func() runtime.Object { return &example.PodList{} },
		storage.DefaultClusterScopedAttr, nil, nil)
}

func newGetter(options *genericoptions.EtcdOptions, rules map[schema.GroupResource]claims.Rule, written func(int64)) *Getter {
	next := options.CreateRESTOptionsGetter(&genericoptions.SimpleStorageFactory{StorageConfig: options.StorageConfig}, nil)
	return NewGetter(next, options, rules, written)
}

func byNode() map[schema.GroupResource]claims.Rule {
	return map[schema.GroupResource]claims.Rule{pods: {
		Separator: "/",
		Name:      func(o runtime.Object) string { return o.(*example.Pod).Spec.NodeName },
		Refused: func(o runtime.Object, held string) error {
			return apierrors.NewForbidden(pods, o.(*example.Pod).Name, fmt.Errorf("%s is taken", held))
		},
	}}
}

func newPod(name, node string) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: example.PodSpec{NodeName: node}}
}

func create(ctx context.Context, s storage.Interface, p *example.Pod) error {
	return s.Create(ctx, "/example.apiserver.k8s.io/pods/"+p.Name, p, &example.Pod{}, 0)
}

func TestWatchCacheAndClaimsAreOptional(t *testing.T) {
	client := etcdtest.Run(t)
	for _, test := range []struct {
		name    string
		change  func(*genericoptions.EtcdOptions)
		cached  bool
		rules   map[schema.GroupResource]claims.Rule
		refused bool
	}{
		{name: "default", cached: true},
		{name: "claims", cached: true, rules: byNode(), refused: true},
		{name: "claims, no cache", change: func(o *genericoptions.EtcdOptions) { o.EnableWatchCache = false }, rules: byNode(), refused: true},
		{name: "no cache", change: func(o *genericoptions.EtcdOptions) { o.EnableWatchCache = false }},
		{name: "size 0", change: func(o *genericoptions.EtcdOptions) { o.WatchCacheSizes = []string{"pods.example.apiserver.k8s.io#0"} }},
		{name: "size 9", change: func(o *genericoptions.EtcdOptions) { o.WatchCacheSizes = []string{"pods.example.apiserver.k8s.io#9"} }, cached: true},
		{name: "size 0 of others", change: func(o *genericoptions.EtcdOptions) { o.WatchCacheSizes = []string{"others#0"} }, cached: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := client.Delete(t.Context(), "/test-registry/", clientPrefix); err != nil {
				t.Fatal(err)
			}
			options := newOptions(t, client.Endpoints()...)
			if test.change != nil {
				test.change(options)
			}
			s, destroy, err := open(t, newGetter(options, test.rules, nil))
			if err != nil {
				t.Fatal(err)
			}
			defer destroy()
			// Without a cache, storage is ready at once; with one, it becomes ready.
			if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				return s.ReadinessCheck() == nil, nil
			}); err != nil {
				t.Fatal(err)
			}
			_, delegates := s.(*cacher.CacheDelegator)
			_, checks := s.(claims.Checker)
			if checks != test.refused {
				t.Errorf("storage is a claims.Checker: %v", checks)
			}
			if !checks && delegates != test.cached {
				t.Errorf("storage is a %T", s)
			}
			if err := create(t.Context(), s, newPod("a", "node")); err != nil {
				t.Fatal(err)
			}
			if err := create(t.Context(), s, newPod("b", "node")); apierrors.IsForbidden(err) != test.refused {
				t.Errorf("a second object of the name: %v", err)
			}
		})
	}
}

func TestWrittenSeesEveryWrite(t *testing.T) {
	client := etcdtest.Run(t)
	var mu sync.Mutex
	var seen []int64
	written := func(revision int64) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, revision)
	}
	s, destroy, err := open(t, newGetter(newOptions(t, client.Endpoints()...), byNode(), written))
	if err != nil {
		t.Fatal(err)
	}
	defer destroy()
	const key = "/example.apiserver.k8s.io/pods/a"
	setNode := func(node string) error {
		return s.GuaranteedUpdate(t.Context(), key, &example.Pod{}, false, nil, storage.SimpleUpdate(func(o runtime.Object) (runtime.Object, error) {
			o.(*example.Pod).Spec.NodeName = node
			return o, nil
		}), nil)
	}
	var want []int64
	for name, write := range []func() error{
		func() error { return create(t.Context(), s, newPod("a", "node")) },
		func() error { return setNode("other") },
		func() error {
			return s.Delete(t.Context(), key, &example.Pod{}, nil, func(context.Context, runtime.Object) error { return nil }, nil, storage.DeleteOptions{})
		},
		func() error { return create(t.Context(), s, newPod("a", "")) },
		func() error { return setNode("node") },
	} {
		if err := write(); err != nil {
			t.Fatal(name, err)
		}
		revision, err := client.Kubernetes.Get(t.Context(), "nothing", kubernetes.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, revision.Revision)
	}
	// Neither a refused write nor one that changes nothing counts.
	if err := create(t.Context(), s, newPod("a", "")); err == nil {
		t.Error("an object was created twice")
	}
	if err := setNode("node"); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("saw revisions %v, want %v", seen, want)
	}
}

func TestClaimsOverTLS(t *testing.T) {
	certFile, keyFile := certificate(t)
	client := etcdtest.Run(t, func(c *embed.Config) {
		u := etcdtest.FreePort(t, "https")
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{u}, []url.URL{u}
		c.ClientTLSInfo = transport.TLSInfo{CertFile: certFile, KeyFile: keyFile}
	})
	options := newOptions(t, client.Endpoints()...)
	options.StorageConfig.Transport.TrustedCAFile = certFile
	s, destroy, err := open(t, newGetter(options, byNode(), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer destroy()
	if err := create(t.Context(), s, newPod("a", "node")); err != nil {
		t.Fatal(err)
	}
	if err := create(t.Context(), s, newPod("b", "node")); !apierrors.IsForbidden(err) {
		t.Errorf("a second object of the name: %v", err)
	}
}

func TestDestroyEndsEverything(t *testing.T) {
	client := etcdtest.Run(t)
	getter := newGetter(newOptions(t, client.Endpoints()...), byNode(), nil)
	var storages []storage.Interface
	var destroys []factory.DestroyFunc
	for range 2 {
		s, destroy, err := open(t, getter)
		if err != nil {
			t.Fatal(err)
		}
		storages, destroys = append(storages, s), append(destroys, destroy)
	}
	if n := len(getter.compactors.running); n != 1 {
		t.Errorf("%d compactors for one etcd", n)
	}
	destroys[0]()
	destroys[0]() // subresources share a storage
	if n := len(getter.compactors.running); n != 1 {
		t.Errorf("%d compactors while one storage lives", n)
	}
	if err := create(t.Context(), storages[1], newPod("a", "node")); err != nil {
		t.Errorf("destroying one storage broke the other: %v", err)
	}
	destroys[1]()
	if n := len(getter.compactors.running); n != 0 {
		t.Errorf("%d compactors are left", n)
	}
	if err := create(t.Context(), storages[1], newPod("b", "other")); err == nil {
		t.Error("a destroyed storage writes")
	}
}

func TestBadOptions(t *testing.T) {
	client := etcdtest.Run(t)
	for name, test := range map[string]struct {
		change func(*genericoptions.EtcdOptions)
		rules  map[schema.GroupResource]claims.Rule
	}{
		"storage type": {change: func(o *genericoptions.EtcdOptions) { o.StorageConfig.Type = "etcd2" }},
		"cache sizes":  {change: func(o *genericoptions.EtcdOptions) { o.WatchCacheSizes = []string{"pods"} }},
		"claim rule":   {rules: map[schema.GroupResource]claims.Rule{pods: {}}},
	} {
		options := newOptions(t, client.Endpoints()...)
		if test.change != nil {
			test.change(options)
		}
		if _, _, err := open(t, newGetter(options, test.rules, nil)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

var _ generic.RESTOptionsGetter = &Getter{}
