// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// account makes an account of the backend that may read what is discovered, and a kubeconfig with a token of it.
func (v *discovered) account(name string) (*corev1.ServiceAccount, *rbacv1.ClusterRoleBinding) {
	v.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: name}}
	meta := metav1.ObjectMeta{Name: v.name + "-" + name}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
	}}
	v.create(v.b, account, role, v.binding(account))
	token := &authenticationv1.TokenRequest{}
	if err := v.b.SubResource("token").Create(v.t.Context(), account, token); err != nil {
		v.t.Fatal(err)
	}
	config := api.NewConfig()
	config.Clusters["backend"] = &api.Cluster{Server: v.backend.Config().Host, CertificateAuthorityData: v.backend.CA()}
	config.AuthInfos[name] = &api.AuthInfo{Token: token.Status.Token}
	config.Contexts["backend"] = &api.Context{Cluster: "backend", AuthInfo: name}
	config.CurrentContext = "backend"
	v.kubeconfig = filepath.Join(v.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, v.kubeconfig); err != nil {
		v.t.Fatal(err)
	}
	return account, v.binding(account)
}

func (v *discovered) binding(account *corev1.ServiceAccount) *rbacv1.ClusterRoleBinding {
	name := v.name + "-" + account.Name
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
}

// expired: credentials that are no longer valid are reported, and the copies stay; new ones put it right.
func (d *clusters) expired(t *testing.T) {
	v := d.discover(t, false)
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"))
	account, _ := v.account("first")
	first := v.run()
	v.copied()
	v.status("Synced")
	before := v.versions()
	v.delete(v.b, account)
	v.status(gimbalv1.ErrorAuthentication, gimbalv1.ErrorAuthentication)
	first.terminate()
	// A discoverer that starts with them cannot list the backend, and changes nothing.
	stale := v.run()
	eventually(t, func(context.Context) error {
		page, err := stale.read("/metrics")
		if err == nil && !strings.Contains(page, `errortype="`+gimbalv1.ErrorAuthentication+`"`) {
			err = errors.New("it does not know that the credentials are rejected")
		}
		return err
	})
	v.status(gimbalv1.ErrorAuthentication, gimbalv1.ErrorAuthentication)
	stale.terminate()
	v.account("second")
	v.leads(v.run())
	v.status("Synced")
	if err := diffError(before, v.versions()); err != nil {
		t.Error(err)
	}
}

// another: credentials that lead to another cluster, which is this one here, replace and delete nothing until that is
// confirmed.
func (d *clusters) another(t *testing.T) {
	v := d.discover(t, false)
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"))
	first := v.run()
	v.copied()
	v.leads(first)
	id := func(c client.Client) string {
		namespace := &corev1.Namespace{}
		if err := c.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
			t.Fatal(err)
		}
		return string(namespace.UID)
	}
	if found := v.status("Synced").Status.Identity; len(found) != 2 || found[0].ID != id(v.b) {
		t.Errorf("status.identity = %+v, want the namespace kube-system with uid %s, and a Service", found, id(v.b))
	}
	before := v.versions()
	first.terminate()
	v.create(v.c, v.service("other"))
	v.kubeconfig = kubeconfigFor(t, v.here, "discoverer", "discovery/backend")
	second := v.run()
	message := v.status(gimbalv1.ErrorAnotherCluster, gimbalv1.ErrorAnotherCluster).Status.Errors[0].Message
	if !strings.Contains(message, gimbalv1.AnnotationConfirmedCluster+": "+id(v.c)) {
		t.Errorf("message = %q, want the annotation with uid %s", message, id(v.c))
	}
	if err := diffError(before, v.versions()); err != nil {
		t.Error(err)
	}
	editIn(v, v.c, &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: v.admin, Name: v.name}}, func(b *gimbalv1.DiscoveryBackend) {
		b.Annotations = map[string]string{gimbalv1.AnnotationConfirmedCluster: id(v.c)}
	})
	v.leads(second)
	finally(t, func(context.Context) error {
		found := v.versions()
		if _, copied := found[fmt.Sprintf("*v1.Service %s/%s-other", v.ns, v.name)]; !copied || len(found) != 1 {
			return fmt.Errorf("copies are %v, want that of Service other alone", found)
		}
		return nil
	})
	if found := v.status("Synced").Status.Identity; len(found) != 2 || found[0].ID != id(v.c) {
		t.Errorf("status.identity = %+v, want the namespace kube-system with uid %s, and a Service", found, id(v.c))
	}
}

// forbidden: a permission that is missing in the backend is reported, and the copies stay.
func (d *clusters) forbidden(t *testing.T) {
	v := d.discover(t, false)
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"))
	account, binding := v.account("reader")
	v.leads(v.run())
	v.copied()
	before := v.versions()
	v.delete(v.b, binding)
	v.status(gimbalv1.ErrorAuthentication, gimbalv1.ErrorAuthentication)
	v.create(v.b, v.binding(account))
	v.status("Synced")
	if err := diffError(before, v.versions()); err != nil {
		t.Error(err)
	}
	v.create(v.b, v.service("late"))
	v.copied()
}

// outage: while the backend is stopped, or does not respond, its copies remain unchanged.
func (d *clusters) outage(t *testing.T) {
	v := d.discover(t, false)
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"))
	v.leads(v.run())
	v.copied()
	before := v.versions()
	server := d.backend.KubeAPIServer
	unchanged := func() {
		t.Helper()
		if err := diffError(before, v.versions()); err != nil {
			t.Error(err)
		}
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		pid := server.PID()
		if pid == 0 { // 0 would be this process
			t.Fatalf("%s has ended", server.Name())
		}
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	v.status(gimbalv1.ErrorConnection, gimbalv1.ErrorConnection)
	unchanged()
	signal(syscall.SIGCONT)
	v.status("Synced")
	unchanged()

	if err := server.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.status(gimbalv1.ErrorConnection, gimbalv1.ErrorConnection)
	unchanged()
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.status("Synced")
	unchanged()
	v.create(v.b, v.service("late"))
	v.copied()
}
