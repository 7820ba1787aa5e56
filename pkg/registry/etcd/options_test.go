// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/cacher"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

func TestWatchCacheAndClaimsAreOptional(t *testing.T) {
	client := etcdtest.Run(t)
	for _, test := range []struct {
		name     string
		change   func(*genericoptions.EtcdOptions)
		cached   bool
		rules    map[schema.GroupResource]claims.Rule
		rejected bool
	}{
		{name: "default", cached: true},
		{name: "claims", cached: true, rules: byNode(), rejected: true},
		{name: "claims, no cache", change: func(o *genericoptions.EtcdOptions) { o.EnableWatchCache = false }, rules: byNode(), rejected: true},
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
			// Without a cache, storage is ready immediately; with one, it becomes ready.
			if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				return s.ReadinessCheck() == nil, nil
			}); err != nil {
				t.Fatal(err)
			}
			_, checks := s.(claims.Checker)
			below := s
			if above, is := s.(available); is {
				below = above.Interface
			}
			_, delegates := below.(*cacher.CacheDelegator)
			if checks != test.rejected {
				t.Errorf("storage is a claims.Checker: %v", checks)
			}
			if !checks && delegates != test.cached {
				t.Errorf("storage is a %T", below)
			}
			if err := create(t.Context(), s, newPod("a", "node")); err != nil {
				t.Fatal(err)
			}
			if err := create(t.Context(), s, newPod("b", "node")); apierrors.IsForbidden(err) != test.rejected {
				t.Errorf("a second object of the name: %v", err)
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	client := etcdtest.Run(t)
	for name, change := range map[string]func(*genericoptions.EtcdOptions){
		"storage type": func(o *genericoptions.EtcdOptions) { o.StorageConfig.Type = "etcd2" },
		"cache sizes":  func(o *genericoptions.EtcdOptions) { o.WatchCacheSizes = []string{"pods"} },
	} {
		options := newOptions(t, client.Endpoints()...)
		change(options)
		if _, _, err := open(t, newGetter(options, nil, nil)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
