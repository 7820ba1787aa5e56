// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// TestSharedEtcd checks that two API servers on the plane's etcd and two controller managers can be reached, and share one store.
func TestSharedEtcd(t *testing.T) {
	binary(t, apiserverName)
	binary(t, managerName)
	p := controlPlane(t, Options{Dir: t.TempDir(), APIServers: 2, Managers: 2, SharedEtcd: true})
	var names []string
	for _, process := range p.Processes() {
		names = append(names, process.Name())
	}
	want := []string{"etcd", "kube-apiserver", "groundskeeper-apiserver", "groundskeeper-apiserver-1", "kube-controller-manager",
		"groundskeeper-controller-manager", "groundskeeper-controller-manager-1"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	projects := func(config *rest.Config) func(name string) (*gardenerv1beta1.Project, error) {
		clients, err := versioned.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return func(name string) (*gardenerv1beta1.Project, error) {
			return clients.GardenerV1beta1().Projects().Get(t.Context(), name, metav1.GetOptions{})
		}
	}
	clients, err := versioned.NewForConfig(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	if _, err := clients.GardenerV1beta1().Projects().Create(t.Context(), project, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range p.APIServers {
		get := projects(p.DirectConfig(i))
		await(t, func() (*gardenerv1beta1.Project, bool) {
			current, err := get("shared")
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatalf("API server %d: %v", i, err)
			}
			return current, err == nil && current.Status.Phase == gardenerv1beta1.ProjectReady
		})
	}
	if p.APIServers[0].Address() == p.APIServers[1].Address() || p.Managers[0].PID() == p.Managers[1].PID() {
		t.Error("two processes are one")
	}
	if err := p.APIServers[1].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := projects(p.Config())("shared"); err != nil {
		t.Errorf("through the aggregator, with the second server deleted: %v", err)
	}
	if err := p.APIServers[1].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}
