// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver"
	applygardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gardener/v1beta1"
	applygimbalv1 "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/test/claimcheck"
)

// TestNamespaceIsClaimedOnce checks that exactly one of several concurrent creations with the same namespace succeeds, through two
// servers and with all kinds of requests.
func TestNamespaceIsClaimedOnce(t *testing.T) {
	clients := []*versioned.Clientset{client(t, 0, asJSON), client(t, 1, asProtobuf)}
	base := name(t, "race-")
	for round := range rounds(t) {
		namespace := fmt.Sprintf("garden-%s-%d", base, round)
		winners := atomic.Int64{}
		var wg sync.WaitGroup
		for contender := range 4 {
			way := rand.IntN(3)
			wg.Go(func() {
				err := createProject(t.Context(), clients[contender%2], way, fmt.Sprintf("%s-%d-%d", base, round, contender), namespace)
				switch {
				case err == nil:
					winners.Add(1)
				case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "already in-use by another project"):
					t.Errorf("round %d: way %d: %v", round, way, err)
				}
			})
		}
		wg.Wait()
		if n := winners.Load(); n != 1 {
			t.Fatalf("round %d: %d projects got namespace %s", round, n, namespace)
		}
	}
	consistent(t)
}

func createProject(ctx context.Context, c *versioned.Clientset, way int, name, namespace string) error {
	projects := c.GardenerV1beta1().Projects()
	project := &gardenerv1beta1.Project{ObjectMeta: created(name), Spec: gardenerv1beta1.ProjectSpec{Namespace: &namespace}}
	var err error
	switch way {
	case 0:
		_, err = projects.Create(ctx, project, metav1.CreateOptions{})
	case 1:
		project.GenerateName, project.Name = name[:min(len(name), 40)]+"-", ""
		_, err = projects.Create(ctx, project, metav1.CreateOptions{})
	default:
		_, err = projects.Apply(ctx, applygardenerv1beta1.Project(name).WithSpec(applygardenerv1beta1.ProjectSpec().WithNamespace(namespace)),
			metav1.ApplyOptions{FieldManager: "test", Force: true})
	}
	return err
}

// TestBackendNamesExcludePrefixes checks that names of backends exclude their dash-separated prefixes in all namespaces: exactly
// one of {eu, eu-east, eu-east-1, eu} is created.
func TestBackendNamesExcludePrefixes(t *testing.T) {
	clients := []*versioned.Clientset{client(t, 0, asProtobuf), client(t, 1, asJSON)}
	base := name(t, "us")
	for round := range rounds(t) {
		us := fmt.Sprintf("%sx%d", base, round)
		winners := atomic.Int64{}
		var wg sync.WaitGroup
		for i, backend := range []string{us, us + "-east", us + "-east-1", us} {
			way := rand.IntN(2)
			wg.Go(func() {
				err := createBackend(t.Context(), clients[i%2], way, fmt.Sprintf("ns-%d", i), backend)
				switch {
				case err == nil:
					winners.Add(1)
				case !apierrors.IsForbidden(err):
					t.Errorf("round %d: %s: %v", round, backend, err)
				}
			})
		}
		wg.Wait()
		if n := winners.Load(); n != 1 {
			t.Fatalf("round %d: %d backends of %s got a name", round, n, us)
		}
	}
	consistent(t)
}

func createBackend(ctx context.Context, c *versioned.Clientset, way int, namespace, name string) error {
	backends := c.GimbalV1().DiscoveryBackends(namespace)
	var err error
	if way == 0 {
		_, err = backends.Create(ctx, backend(name), metav1.CreateOptions{})
	} else {
		_, err = backends.Apply(ctx, applygimbalv1.DiscoveryBackend(name, namespace).
			WithCluster(applygimbalv1.Cluster().WithType(gimbalv1.BackendKubernetes).WithSecret("credentials")),
			metav1.ApplyOptions{FieldManager: "test", Force: true})
	}
	return err
}

func backend(name string) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: created(name), Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "credentials"}}
}

// TestClaimIsHeldUntilDeletion checks that a reservation lasts until the transaction that deletes the object, and no longer.
func TestClaimIsHeldUntilDeletion(t *testing.T) {
	ctx, projects := t.Context(), client(t, 0, asJSON).GardenerV1beta1().Projects()
	first, second := name(t, "held-"), name(t, "next-")
	namespace := "garden-" + first
	project := func(name string) *gardenerv1beta1.Project {
		return &gardenerv1beta1.Project{ObjectMeta: created(name), Spec: gardenerv1beta1.ProjectSpec{Namespace: &namespace}}
	}
	if _, err := projects.Create(ctx, project(first), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	remove(t, projects, first)
	for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
		if _, err := projects.Create(ctx, project(second), metav1.CreateOptions{DryRun: dryRun}); !apierrors.IsForbidden(err) {
			t.Errorf("dry run %v, while the first one is being deleted: %v", dryRun, err)
		}
	}
	release := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := projects.Patch(ctx, first, types.MergePatchType, release, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if _, err := projects.Create(ctx, project(second), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("after a dry run of the deletion: %v", err)
	}
	if _, err := projects.Patch(ctx, first, types.MergePatchType, release, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := projects.Create(ctx, project(second), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("dry run after the deletion: %v", err)
	}
	if _, err := projects.Create(ctx, project(second), metav1.CreateOptions{}); err != nil {
		t.Errorf("after the deletion: %v", err)
	}
	consistent(t)
}

// consistent replays the history of etcd: at every revision each object holds its claim, and each claim has its object.
func consistent(t *testing.T) {
	t.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	revisions, err := claimcheck.Replay(t.Context(), etcd, apiserver.EtcdPrefix)
	if err != nil {
		t.Fatal(err)
	}
	if revisions == 0 {
		t.Fatal("nothing was written")
	}
	t.Logf("objects and claims agree at all of %d revisions", revisions)
}
