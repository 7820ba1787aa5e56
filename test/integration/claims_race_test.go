// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	applygardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gardener/v1beta1"
	applygimbalv1 "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/test/claimcheck"
)

// storePrefix is where the Groundskeeper API servers keep their objects in the plane's etcd.
const storePrefix = "/registry-groundskeeper"

// contender is one of those that want the same name at the same time. It returns the name of what it created.
type contender func(ctx context.Context) (string, error)

// TestSoakNamespaceIsClaimedOnce creates Projects that specify the same namespace concurrently, through two API servers and with
// all kinds of requests, and checks that exactly one succeeds.
func TestSoakNamespaceIsClaimedOnce(t *testing.T) {
	t.Parallel()
	ways := []func(*versioned.Clientset, string, string) contender{postProject, applyProject, generateProject}
	base := name(t, "race")
	for round := range rounds(t, 10) {
		namespace := fmt.Sprintf("garden-%s-%d", base, round)
		var contenders []contender
		for i, client := range twoServers(t) {
			for j, way := range ways {
				contenders = append(contenders, way(client, fmt.Sprintf("%s-%d-%d%d", base, round, i, j), namespace))
			}
		}
		winner := race(t, contenders, fmt.Sprintf("namespace %q is already in-use by another project", namespace))
		project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: winner}}
		get(t, project)
		if project.NamespaceName() != namespace {
			t.Fatalf("round %d: %s won and has namespace %s", round, winner, project.NamespaceName())
		}
		mustRemove(t, project)
	}
	historyAgrees(t)
}

// TestSoakBackendNamesExcludeEachOther creates the DiscoveryBackends us-east and us-east-1 in two namespaces concurrently, and
// checks that exactly one succeeds. Each round uses the same names, so it also checks that deletion releases them.
func TestSoakBackendNamesExcludeEachOther(t *testing.T) {
	t.Parallel()
	us := name(t, "us")
	namespaces := []string{freshNamespace(t, "race"), freshNamespace(t, "race")}
	for round := range rounds(t, 10) {
		var contenders []contender
		var clients []*versioned.Clientset
		for i, client := range twoServers(t) {
			clients = append(clients, client)
			for j, backend := range []string{us, us + "-east", us + "-east-1"} {
				way := postBackend
				if (round+i+j)%2 == 0 {
					way = applyBackend
				}
				contenders = append(contenders, way(client, namespaces[i], backend))
			}
		}
		// A generated name ends in a random suffix, and is below all the others.
		contenders = append(contenders, generateBackend(clients[round%2], namespaces[0], us+"-east-1-"))
		winner := race(t, contenders, "metadata.name")
		deleteBackend(t, namespaces, winner)
	}
	historyAgrees(t)
}

// race starts all contenders at the same time. One of them must win; the others must be rejected with the words. It returns the
// name of the winner's object.
func race(t *testing.T, contenders []contender, rejection string) string {
	t.Helper()
	type result struct {
		object string
		err    error
	}
	results, start := make([]result, len(contenders)), make(chan struct{})
	var wg sync.WaitGroup
	for i, contend := range contenders {
		wg.Go(func() {
			<-start
			results[i].object, results[i].err = contend(t.Context())
		})
	}
	close(start)
	wg.Wait()
	var winners []string
	for i, result := range results {
		switch {
		case result.err == nil:
			winners = append(winners, result.object)
		case !apierrors.IsForbidden(result.err) || !strings.Contains(result.err.Error(), rejection):
			t.Errorf("contender %d: %v", i, result.err)
		}
	}
	if len(winners) != 1 || t.Failed() {
		t.Fatalf("the winners are %q, it must be one", winners)
	}
	return winners[0]
}

// twoServers are clients of both API servers: of the first through the aggregator and in JSON, of the second directly
// and in protobuf.
func twoServers(t *testing.T) [2]*versioned.Clientset {
	t.Helper()
	direct := shared.DirectConfig(1)
	direct.ContentType, direct.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	return [2]*versioned.Clientset{versioned.NewForConfigOrDie(shared.Config()), versioned.NewForConfigOrDie(direct)}
}

func postProject(c *versioned.Clientset, name, namespace string) contender {
	return func(ctx context.Context) (string, error) {
		project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gardenerv1beta1.ProjectSpec{Namespace: &namespace}}
		made, err := c.GardenerV1beta1().Projects().Create(ctx, project, metav1.CreateOptions{})
		return made.GetName(), err
	}
}

func generateProject(c *versioned.Clientset, name, namespace string) contender {
	return func(ctx context.Context) (string, error) {
		project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}, Spec: gardenerv1beta1.ProjectSpec{Namespace: &namespace}}
		made, err := c.GardenerV1beta1().Projects().Create(ctx, project, metav1.CreateOptions{})
		return made.GetName(), err
	}
}

func applyProject(c *versioned.Clientset, name, namespace string) contender {
	return func(ctx context.Context) (string, error) {
		project := applygardenerv1beta1.Project(name).WithSpec(applygardenerv1beta1.ProjectSpec().WithNamespace(namespace))
		made, err := c.GardenerV1beta1().Projects().Apply(ctx, project, metav1.ApplyOptions{FieldManager: "race"})
		return made.GetName(), err
	}
}

func backend(meta metav1.ObjectMeta) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: meta, Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "credentials"}}
}

func postBackend(c *versioned.Clientset, namespace, name string) contender {
	return func(ctx context.Context) (string, error) {
		made, err := c.GimbalV1().DiscoveryBackends(namespace).Create(ctx, backend(metav1.ObjectMeta{Name: name}), metav1.CreateOptions{})
		return made.GetName(), err
	}
}

func generateBackend(c *versioned.Clientset, namespace, prefix string) contender {
	return func(ctx context.Context) (string, error) {
		made, err := c.GimbalV1().DiscoveryBackends(namespace).Create(ctx, backend(metav1.ObjectMeta{GenerateName: prefix}), metav1.CreateOptions{})
		return made.GetName(), err
	}
}

func applyBackend(c *versioned.Clientset, namespace, name string) contender {
	return func(ctx context.Context) (string, error) {
		backend := applygimbalv1.DiscoveryBackend(name, namespace).
			WithCluster(applygimbalv1.Cluster().WithType(gimbalv1.BackendKubernetes).WithSecret("credentials"))
		made, err := c.GimbalV1().DiscoveryBackends(namespace).Apply(ctx, backend, metav1.ApplyOptions{FieldManager: "race"})
		return made.GetName(), err
	}
}

// deleteBackend deletes the backend of that name, in whichever of the namespaces it is.
func deleteBackend(t *testing.T, namespaces []string, name string) {
	t.Helper()
	for _, namespace := range namespaces {
		deleteNow(t, backend(metav1.ObjectMeta{Namespace: namespace, Name: name}))
	}
}

// historyAgrees replays what etcd remembers: at every revision objects and claims agree.
func historyAgrees(t *testing.T) {
	t.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{shared.EtcdEndpoint()}, TLS: shared.EtcdTLS()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	revisions, err := claimcheck.Replay(t.Context(), etcd, storePrefix)
	if err != nil {
		t.Fatal(err)
	}
	if revisions == 0 {
		t.Fatal("etcd remembers nothing")
	}
	t.Logf("objects and claims agree at all of %d revisions", revisions)
}
