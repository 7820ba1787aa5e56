// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

func pod(name, node, address string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{PodIP: address},
	}
}

// reconcileAll does so with the Pods of the cluster, and returns the address of each one afterwards, with its phase.
func (k *kubelets) reconcileAll(t *testing.T) map[string]string {
	t.Helper()
	list := func() []corev1.Pod {
		pods, err := k.clients.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pods.Items
	}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, pod := range list() {
		if err := indexer.Add(&pod); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.reconcile(t.Context(), listers.NewPodLister(indexer)); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, pod := range list() {
		got[pod.Name] = strings.TrimSpace(pod.Status.PodIP + " " + string(pod.Status.Phase))
	}
	return got
}

// TestKubelets checks what becomes of Pods where there are no namespaces.
func TestKubelets(t *testing.T) {
	deleted, ended, host := pod("deleted", "node-a", "10.1.0.10"), pod("ended", "node-a", ""), pod("host", "node-b", "")
	deleted.DeletionTimestamp, deleted.Finalizers = new(metav1.Now()), []string{"example.com/keep"}
	ended.Status.Phase = corev1.PodSucceeded
	host.Spec.HostNetwork = true
	clients := fake.NewClientset(deleted, ended, host, pod("former", "node-a", "10.1.0.11"), pod("new", "node-a", ""), pod("newer", "node-b", ""),
		pod("elsewhere", "node-c", ""), pod("nowhere", "", ""))
	k := &kubelets{t: t, clients: clients, guests: guests{}}
	want := map[string]string{
		"ended": "Succeeded", "host": "", "former": "10.1.0.11", "new": "10.1.0.12 Running", "newer": "10.1.1.10 Running", "elsewhere": "", "nowhere": "",
	}
	if diff := cmp.Diff(want, k.reconcileAll(t)); diff != "" {
		t.Errorf("Pods (-want +got):\n%s", diff)
	}
	page := k.page(&ovnserver.Server{})
	for _, text := range []string{"default/former", "10.1.0.12", "node-b"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %s: %s", text, page)
		}
	}

	// The address of a Pod that was deleted is free again.
	if err := clients.CoreV1().Pods("default").Delete(t.Context(), "former", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k.reconcileAll(t)
	if len(k.guests) != 2 {
		t.Errorf("%d Pods run, want 2", len(k.guests))
	}
	if _, err := clients.CoreV1().Pods("default").Create(t.Context(), pod("last", "node-a", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := k.reconcileAll(t)["last"]; got != "10.1.0.10 Running" {
		t.Errorf("the last Pod has %q, want the first address", got)
	}
}

// TestNoAddress checks that a full network is an error of the Pod that is named.
func TestNoAddress(t *testing.T) {
	var others []*corev1.Pod
	for last := firstHost; last <= lastHost; last++ {
		others = append(others, pod(fmt.Sprint(last), "node-a", fmt.Sprintf("10.1.0.%d", last)))
	}
	k := &kubelets{t: t, guests: guests{}}
	if err := k.run(t.Context(), pod("more", "node-a", ""), others); err == nil || !strings.Contains(err.Error(), "pod default/more: no address of 10.1.0.0/24 is free") {
		t.Errorf("error = %v", err)
	}
}

func TestRegisterNodes(t *testing.T) {
	existing := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", Labels: map[string]string{"mine": ""}}}
	k := &kubelets{t: t, clients: fake.NewClientset(existing)}
	if err := k.registerNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	node, err := k.clients.CoreV1().Nodes().Get(t.Context(), "node-b", metav1.GetOptions{})
	if err != nil || len(node.Status.Addresses) != 2 {
		t.Errorf("node = %v, %v", node, err)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{nil, {"--directory=d", "--address=a"}, {"--unknown"}, {"--directory=d", "--address=a", "--kubeconfig=k", "more"}, {serveCommand}} {
		if err := command(t.Context(), args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

// TestServe checks that a Pod whose port is taken reports that, and that one ends with its context.
func TestServe(t *testing.T) {
	nothing := func() error { return nil }
	if err := serve(t.Context(), nothing, "web-0", []string{"-1"}); err == nil {
		t.Error("a wrong port is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve(ctx, nothing, "web-0", []string{"0"}); err != nil {
		t.Error(err)
	}
	if err := serve(ctx, nothing, "client", nil); err != nil {
		t.Error(err)
	}
}
