// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/example"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// byKey lets every object take a name of its own, so that each write of a suite also changes a claim.
func byKey() map[schema.GroupResource]claims.Rule {
	return map[schema.GroupResource]claims.Rule{pods: {
		Separator: "|",
		Name: func(o runtime.Object) string {
			if pod := o.(*example.Pod); pod.Name != "" {
				return pod.Namespace + "_" + pod.Name
			}
			return ""
		},
		Rejection: func(o runtime.Object, held string) error {
			return apierrors.NewForbidden(pods, o.(*example.Pod).Name, fmt.Errorf("%s is taken", held))
		},
	}}
}

// attributes are the fields that the suites select by.
func attributes(o runtime.Object) (labels.Set, fields.Set, error) {
	pod := o.(*example.Pod)
	return pod.Labels, fields.Set{
		"metadata.name": pod.Name, "metadata.namespace": pod.Namespace,
		"spec.nodeName": pod.Spec.NodeName, "spec.restartPolicy": string(pod.Spec.RestartPolicy), "status.phase": string(pod.Status.Phase),
	}, nil
}

// TestUpstreamSuites runs exported tests of apiserver's storage over the storage as it is built here: with its own client and with claims,
// without the watch cache, and all but three with it. TestUpstreamSuitesOfEncryption runs more, without the watch cache only, as does
// TestUpstreamSuitesOfWatchLists with both. leftOut has those that run nowhere.
func TestUpstreamSuites(t *testing.T) {
	for name, suite := range map[string]func(ctx context.Context, t *testing.T, s storage.Interface, etcd *clientv3.Client, cached bool){
		"Create": func(ctx context.Context, t *testing.T, s storage.Interface, _ *clientv3.Client, _ bool) {
			storagetesting.RunTestCreate(ctx, t, s, func(context.Context, *testing.T, string) {})
		},
		"GetListNonRecursive": func(ctx context.Context, t *testing.T, s storage.Interface, etcd *clientv3.Client, _ bool) {
			storagetesting.RunTestGetListNonRecursive(ctx, t, increaseRV(etcd), s)
		},
		"ConsistentList": func(ctx context.Context, t *testing.T, s storage.Interface, etcd *clientv3.Client, cached bool) {
			storagetesting.RunTestConsistentList(ctx, t, s, increaseRV(etcd), cached, true, cached)
		},
		"ListContinuation": func(ctx context.Context, t *testing.T, s storage.Interface, _ *clientv3.Client, _ bool) {
			storagetesting.RunTestListContinuation(ctx, t, s, anyCalls)
		},
		"ListContinuationWithFilter": func(ctx context.Context, t *testing.T, s storage.Interface, _ *clientv3.Client, _ bool) {
			storagetesting.RunTestListContinuationWithFilter(ctx, t, s, anyCalls)
		},
		"ListPaginationRareObject": func(ctx context.Context, t *testing.T, s storage.Interface, _ *clientv3.Client, _ bool) {
			storagetesting.RunTestListPaginationRareObject(ctx, t, s, anyCalls)
		},
		"ListInconsistentContinuation": func(ctx context.Context, t *testing.T, s storage.Interface, etcd *clientv3.Client, cached bool) {
			if cached {
				t.Skip("it needs to know when the watch cache has seen the compaction")
			}
			storagetesting.RunTestListInconsistentContinuation(ctx, t, s, compaction(etcd))
		},
		"WatchFromZero": func(ctx context.Context, t *testing.T, s storage.Interface, etcd *clientv3.Client, cached bool) {
			if cached {
				t.Skip("it needs to know when the watch cache has seen the compaction")
			}
			storagetesting.RunTestWatchFromZero(ctx, t, s, compaction(etcd))
		},
		"CompactRevision": func(ctx context.Context, t *testing.T, s storage.Interface, etcd *clientv3.Client, _ bool) {
			storagetesting.RunTestCompactRevision(ctx, t, s, increaseRV(etcd), seen(s, compaction(etcd)))
		},
		"Stats": func(ctx context.Context, t *testing.T, s storage.Interface, _ *clientv3.Client, cached bool) {
			storagetesting.RunTestStats(ctx, t, s, newOptions(t).StorageConfig.Codec, identity.NewEncryptCheckTransformer(), cached)
		},
		"ProgressNotify": func(ctx context.Context, t *testing.T, s storage.Interface, etcd *clientv3.Client, cached bool) {
			if cached {
				t.Skip("the watch cache sends bookmarks of its own")
			}
			storagetesting.RunOptionalTestProgressNotify(ctx, t, s, increaseRV(etcd))
		},
		"CreateWithTTL":                          plain(storagetesting.RunTestCreateWithTTL),
		"GuaranteedUpdateWithTTL":                plain(storagetesting.RunTestGuaranteedUpdateWithTTL),
		"DelayedWatchDelivery":                   plain(storagetesting.RunTestDelayedWatchDelivery),
		"WatcherTimeout":                         plain(storagetesting.RunTestWatcherTimeout),
		"SendInitialEventsBackwardCompatibility": plain(storagetesting.RunSendInitialEventsBackwardCompatibility),
		"CreateWithKeyExist":                     plain(storagetesting.RunTestCreateWithKeyExist),
		"UnconditionalDelete":                    plain(storagetesting.RunTestUnconditionalDelete),
		"ConditionalDelete":                      plain(storagetesting.RunTestConditionalDelete),
		"DeleteWithSuggestion":                   plain(storagetesting.RunTestDeleteWithSuggestion),
		"DeleteWithSuggestionAndConflict":        plain(storagetesting.RunTestDeleteWithSuggestionAndConflict),
		"DeleteWithSuggestionOfDeletedObject":    plain(storagetesting.RunTestDeleteWithSuggestionOfDeletedObject),
		"DeleteWithConflict":                     plain(storagetesting.RunTestDeleteWithConflict),
		"ValidateDeletionWithSuggestion":         plain(storagetesting.RunTestValidateDeletionWithSuggestion),
		"ValidateDeletionWithOnlySuggestion":     plain(storagetesting.RunTestValidateDeletionWithOnlySuggestionValid),
		"PreconditionalDeleteWithSuggestion":     plain(storagetesting.RunTestPreconditionalDeleteWithSuggestion),
		"PreconditionalDeleteWithOnlySuggestion": plain(storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass),
		"GetListRecursivePrefix":                 plain(storagetesting.RunTestGetListRecursivePrefix),
		"GuaranteedUpdateWithConflict":           plain(storagetesting.RunTestGuaranteedUpdateWithConflict),
		"GuaranteedUpdateWithSuggestionConflict": plain(storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict),
		"ListPaging":                             plain(storagetesting.RunTestListPaging),
		"NamespaceScopedList":                    plain(storagetesting.RunTestNamespaceScopedList),
		"KeySchema":                              plain(storagetesting.RunTestKeySchema),
		"Watch":                                  plain(storagetesting.RunTestWatch),
		"DeleteTriggerWatch":                     plain(storagetesting.RunTestDeleteTriggerWatch),
		"WatchFromNonZero":                       plain(storagetesting.RunTestWatchFromNonZero),
		"WatchContextCancel":                     plain(storagetesting.RunTestWatchContextCancel),
		"WatchDeleteEventObjectHaveLatestRV":     plain(storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV),
		"WatchInitializationSignal":              plain(storagetesting.RunTestWatchInitializationSignal),
		"ClusterScopedWatch":                     plain(storagetesting.RunTestClusterScopedWatch),
		"NamespaceScopedWatch":                   plain(storagetesting.RunTestNamespaceScopedWatch),
	} {
		for _, cached := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cached=%t", name, cached), func(t *testing.T) {
				t.Parallel()
				etcd := etcdtest.Run(t, func(config *embed.Config) { config.WatchProgressNotifyInterval = time.Second })
				key := storage.NamespaceKeyFunc
				if name == "ClusterScopedWatch" {
					key = storage.NoNamespaceKeyFunc
				}
				options := newOptions(t, etcd.Endpoints()...)
				options.EnableWatchCache = cached
				s := openForSuite(t, options, byKey(), key)
				suite(context.Background(), t, s, etcd.Client, cached)
			})
		}
	}
}

func plain(suite func(context.Context, *testing.T, storage.Interface)) func(context.Context, *testing.T, storage.Interface, *clientv3.Client, bool) {
	return func(ctx context.Context, t *testing.T, s storage.Interface, _ *clientv3.Client, _ bool) {
		suite(ctx, t, s)
	}
}

// openForSuite builds the storage of pods under the keys that the suites expect, and waits until it serves.
func openForSuite(
	t *testing.T, options *genericoptions.EtcdOptions, rules map[schema.GroupResource]claims.Rule, key func(prefix string, o runtime.Object) (string, error),
) storage.Interface {
	t.Helper()
	rest, err := newGetter(options, rules, nil).GetRESTOptions(pods, &example.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	const root = "/pods/"
	s, destroy, err := rest.Decorator(rest.StorageConfig, root, func(o runtime.Object) (string, error) { return key(root, o) },
		func() runtime.Object { return &example.Pod{} }, func() runtime.Object { return &example.PodList{} }, attributes, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.ReadinessCheck() == nil, nil
	}); err != nil {
		t.Fatal(s.ReadinessCheck())
	}
	return s
}

func increaseRV(etcd *clientv3.Client) storagetesting.IncreaseRVFunc {
	return func(ctx context.Context, t *testing.T) int64 {
		put, err := etcd.Put(ctx, "increaseRV", "ok")
		if err != nil {
			t.Fatal(err)
		}
		return put.Header.Revision
	}
}

func compaction(etcd *clientv3.Client) storagetesting.Compaction {
	return func(ctx context.Context, t *testing.T, version string) {
		revision, err := strconv.ParseInt(version, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		// Twice: the first compaction only learns the time of the last one.
		current, _, _, err := etcd3.Compact(ctx, etcd, 0, revision)
		if err == nil {
			return
		}
		if _, _, _, err = etcd3.Compact(ctx, etcd, current, revision); err != nil {
			t.Fatal(err)
		}
	}
}

// seen returns a compaction that the storage has seen when it returns.
func seen(s storage.Interface, compact storagetesting.Compaction) storagetesting.Compaction {
	return func(ctx context.Context, t *testing.T, version string) {
		compact(ctx, t, version)
		if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			return strconv.FormatInt(s.CompactRevision(), 10) == version, nil
		}); err != nil {
			t.Fatalf("compacted revision = %d, want %s", s.CompactRevision(), version)
		}
	}
}

// anyCalls accepts any number of requests to etcd: the library's own tests count them.
func anyCalls(*testing.T, uint64, uint64) {}
