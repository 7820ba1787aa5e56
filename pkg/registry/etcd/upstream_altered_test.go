// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// leftOut are the suites that do not run at all, with the reason. Upstream's own tests run them over the same library.
var leftOut = map[string]string{
	"RunTestGet":                                              "its object expires within a second, which is too early on a slow machine",
	"RunTestList":                                             "it counts the requests of a client that it makes itself",
	"RunTestGetListWithErrorAggregation":                      "one of its errors must not count as corruption, and all of encryption do",
	"RunTestGetListWithoutErrorAggregation":                   "it expects keys without the prefix that a store has in etcd",
	"RunTestWatchDispatchBookmarkEvents":                      "it waits three seconds for a bookmark",
	"RunTestOptionalWatchBookmarksWithCorrectResourceVersion": "it waits three seconds for a bookmark",
}

// altered is a storage whose encryption a suite replaces.
type altered struct {
	storage.Interface
	encryption *replaceable
}

func (a altered) UpdatePrefixTransformer(modify storagetesting.PrefixTransformerModifier) func() {
	return a.encryption.replace(func(before value.Transformer) value.Transformer {
		copied := *before.(*storagetesting.PrefixTransformer)
		return modify(&copied)
	})
}

func (a altered) UpdateTransformer(modify storagetesting.TransformerModifier) func() {
	return a.encryption.replace(modify)
}

// setFailing makes no object readable, or all of them again.
func (a altered) setFailing(fails bool) { a.encryption.fails.Store(fails) }

// replaceable is an encryption that can be replaced while a store uses it.
type replaceable struct {
	now   atomic.Pointer[value.Transformer]
	fails atomic.Bool
}

func (r *replaceable) replace(modify func(value.Transformer) value.Transformer) (undo func()) {
	before := r.now.Load()
	next := modify(*before)
	r.now.Store(&next)
	return func() { r.now.Store(before) }
}

func (r *replaceable) TransformFromStorage(ctx context.Context, data []byte, of value.Context) ([]byte, bool, error) {
	if r.fails.Load() {
		return nil, false, errors.New("it fails")
	}
	return (*r.now.Load()).TransformFromStorage(ctx, data, of)
}

func (r *replaceable) TransformToStorage(ctx context.Context, data []byte, of value.Context) ([]byte, error) {
	return (*r.now.Load()).TransformToStorage(ctx, data, of)
}

// TestUpstreamSuitesOfEncryption runs the exported tests that replace the encryption of a store: below the watch cache, as upstream does,
// and with its settings of the feature that deletes corrupt objects. This is one of the process, so no other test runs meanwhile.
func TestUpstreamSuitesOfEncryption(t *testing.T) {
	corrupt := errors.New("bits flipped")
	for name, test := range map[string]struct {
		deletesCorrupt bool
		suite          func(ctx context.Context, t *testing.T, s altered)
	}{
		"GuaranteedUpdate": {false, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestGuaranteedUpdate(ctx, t, s, func(context.Context, *testing.T, string) {})
		}},
		"GuaranteedUpdateChecksStoredData": {false, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestGuaranteedUpdateChecksStoredData(ctx, t, s)
		}},
		"TransformationFailure": {false, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestTransformationFailure(ctx, t, s)
		}},
		"ListResourceVersionMatch": {false, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestListResourceVersionMatch(ctx, t, s)
		}},
		"WatchError": {false, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestWatchError(ctx, t, s)
		}},
		"WatchErrorIsBlockingFurtherEvents": {false, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunWatchErrorIsBlockingFurtherEvents(ctx, t, s)
		}},
		"WatchWithUnsafeDelete": {true, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestWatchWithUnsafeDelete(ctx, t, s, corrupt)
		}},
		"DeleteExpectedTransformOrDecodeError": {true, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestDeleteExpectedTransformOrDecodeError(ctx, t, s, s.setFailing)
		}},
		"DeleteWithConflictAndMissingExpectedTransformOrDecodeError": {true, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError(ctx, t, s, s.setFailing)
		}},
		"DeleteWithSuggestionAndMissingExpectedTransformOrDecodeError": {true, func(ctx context.Context, t *testing.T, s altered) {
			storagetesting.RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError(ctx, t, s)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			gates := utilfeature.DefaultFeatureGate
			featuregatetesting.SetFeatureGateDuringTest(t, gates, features.AllowUnsafeMalformedObjectDeletion, test.deletesCorrupt)
			etcd, encryption := etcdtest.Run(t), &replaceable{}
			encryption.now.Store(new(value.Transformer(storagetesting.NewPrefixTransformer([]byte("test!"), false))))
			options := newOptions(t, etcd.Endpoints()...)
			options.EnableWatchCache, options.StorageConfig.Transformer = false, encryption
			rules := byKey()
			if name == "GuaranteedUpdate" {
				rules = nil // it stores one object under two keys, which would take one name
			}
			test.suite(context.Background(), t, altered{openForSuite(t, options, rules, storage.NamespaceKeyFunc), encryption})
		})
	}
}

// TestUpstreamSuitesOfWatchLists runs the exported tests that turn on lists as watches, a feature of the process, with and without the watch
// cache.
func TestUpstreamSuitesOfWatchLists(t *testing.T) {
	for name, suite := range map[string]func(context.Context, *testing.T, storage.Interface){
		"WatchSemantics":                     storagetesting.RunWatchSemantics,
		"WatchSemanticInitialEventsExtended": storagetesting.RunWatchSemanticInitialEventsExtended,
		"WatchListMatchSingle":               storagetesting.RunWatchListMatchSingle,
	} {
		for _, cached := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cached=%t", name, cached), func(t *testing.T) {
				etcd := etcdtest.Run(t, func(config *embed.Config) { config.WatchProgressNotifyInterval = time.Second })
				options := newOptions(t, etcd.Endpoints()...)
				options.EnableWatchCache = cached
				suite(context.Background(), t, awaited{openForSuite(t, options, byKey(), storage.NamespaceKeyFunc)})
			})
		}
	}
}

// awaited is a storage whose watch cache has what was created, as in upstream's own runs: a suite that creates an object expects it among
// those that a watch begins with.
type awaited struct{ storage.Interface }

func (a awaited) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := a.Interface.Create(ctx, key, obj, out, ttl); err != nil {
		return err
	}
	version := out.(*example.Pod).ResourceVersion
	return a.Get(ctx, key, storage.GetOptions{ResourceVersion: version}, &example.Pod{})
}

// TestEveryUpstreamSuiteRuns checks that each exported test of apiserver's storage either runs here, with or without the watch cache, or is
// left out for a reason. A new version of the library may have more of them.
func TestEveryUpstreamSuiteRuns(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "k8s.io/apiserver/pkg/storage/testing").Output()
	if err != nil {
		t.Fatal(err)
	}
	exists := named(t, filepath.Join(strings.TrimSpace(string(out)), "*_tests.go"), regexp.MustCompile(`(?m)^func (Run\w+)\(`))
	runs := named(t, "upstream*_test.go", regexp.MustCompile(`storagetesting\.(Run\w+)`))
	if len(exists) == 0 {
		t.Fatal("the library has no suites: the search for them does not work")
	}
	for name := range exists {
		if _, skipped := leftOut[name]; runs[name] == skipped {
			t.Errorf("%s: runs = %t, left out = %t, want one of them", name, runs[name], skipped)
		}
	}
	for name := range leftOut {
		if !exists[name] {
			t.Errorf("%s is left out, and does not exist", name)
		}
	}
}

// named returns the names that files have.
func named(t *testing.T, pattern string, name *regexp.Regexp) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			names[found[1]] = true
		}
	}
	return names
}
