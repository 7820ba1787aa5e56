// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/component-base/metrics/legacyregistry"

	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

var pods = example.Resource("pods")

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
	// Neither a rejected write nor one that changes nothing counts.
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
	if n := getter.compactor.users; n != 2 {
		t.Errorf("the compactor has %d users, want 2", n)
	}
	destroys[0]()
	destroys[0]() // subresources share a storage
	if n := getter.compactor.users; n != 1 {
		t.Errorf("the compactor has %d users while one storage lives, want 1", n)
	}
	if err := create(t.Context(), storages[1], newPod("a", "node")); err != nil {
		t.Errorf("destroying one storage broke the other: %v", err)
	}
	destroys[1]()
	if n := getter.compactor.users; n != 0 {
		t.Errorf("the compactor has %d users without a storage, want 0", n)
	}
	if err := create(t.Context(), storages[1], newPod("b", "other")); err == nil {
		t.Error("a destroyed storage writes")
	}
}

var _ generic.RESTOptionsGetter = &Getter{}

// The pages of a list are served from the watch cache, at the revision of the first page, whatever is written meanwhile. If
// they were read from etcd, it would count all remaining objects for each page.
func TestPagesAreServedFromTheWatchCache(t *testing.T) {
	s, destroy, err := open(t, newGetter(newOptions(t, etcdtest.Run(t).Endpoints()...), nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer destroy()
	const n, limit = 60, 25
	for i := range n {
		if err := create(t.Context(), s, newPod(fmt.Sprintf("%03d", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	waitUntilReady(t, s)
	list := func(next string) (page example.PodList) {
		t.Helper()
		if err := s.GetList(t.Context(), "/example.apiserver.k8s.io/pods/", storage.ListOptions{Recursive: true, Predicate: storage.SelectionPredicate{
			Label: labels.Everything(), Field: fields.Everything(), Limit: limit, Continue: next,
		}}, &page); err != nil {
			t.Fatal(err)
		}
		return page
	}
	first := list("")
	if err := create(t.Context(), s, newPod("050-created-between-pages", "")); err != nil {
		t.Fatal(err)
	}
	before := reads(t)
	names, remaining := []string{}, []int64{}
	for page := first; ; page = list(page.Continue) {
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
		if page.Continue == "" {
			break
		}
		remaining = append(remaining, *page.RemainingItemCount)
	}
	if len(names) != n || !slices.IsSorted(names) || !slices.Equal(remaining, []int64{35, 10}) {
		t.Errorf("names = %q with %d remaining, want %d of the first revision", names, remaining, n)
	}
	if got := reads(t) - before; got != 0 {
		t.Errorf("reads from etcd = %g, want none", got)
	}
}

// reads returns how many reads all clients of this process have sent to etcd.
func reads(t *testing.T) (sum float64) {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "grpc_client_started_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "grpc_method" && strings.HasPrefix(label.GetValue(), "Range") {
					sum += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

func waitUntilReady(t *testing.T, s storage.Interface) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return s.ReadinessCheck() == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
}
