// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

const discoveryKubeconfig = `{"kind":"Config","apiVersion":"v1","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://backend.invalid"}}],
"users":[{"name":"u","user":{"token":"first"}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`

// discoveryPlane is a plane with an operator that runs an image. There is no kubelet, so it is never pulled.
type discoveryPlane struct {
	*plane.Plane
	c     client.WithWatch
	audit string
	// config is the flag of the manager with the image.
	config string
}

func newDiscoveryPlane(t *testing.T) *discoveryPlane {
	t.Helper()
	dir := t.TempDir()
	d := &discoveryPlane{audit: filepath.Join(dir, "audit.log")}
	d.config = "--config=" + write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\ncontrollers: {discovery: {image: groundskeeper-discoverer}}\n")
	started, err := startAudited(t.Context(), t, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + write(t, auditPolicy), "--audit-log-path=" + d.audit},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := checkPermissions(d.audit); err != nil {
			t.Error(err)
		}
	})
	d.Plane, d.c = started, clientOf(t, started.Config())
	apply := exec.CommandContext(t.Context(), d.Kubectl(), "--kubeconfig", d.AdminKubeconfig(), "apply", "-k", "../../artifacts/discovery")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := d.Managers[0].Restart(t.Context(), d.config); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *discoveryPlane) namespace(t *testing.T, prefix string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(t, prefix)}}
	if err := d.c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// backend creates a backend and its Secret.
func (d *discoveryPlane) backend(t *testing.T, namespace string) (*gimbalv1.DiscoveryBackend, *corev1.Secret) {
	t.Helper()
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name(t, "be")}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: backend.Name}, StringData: map[string]string{"config": discoveryKubeconfig}}
	backend.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Credentials: secret.Name}
	for _, object := range []client.Object{secret, backend} {
		if err := d.c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return backend, secret
}

// is waits until a condition of a backend is Status/Reason.
func (d *discoveryPlane) is(t *testing.T, backend *gimbalv1.DiscoveryBackend, kind, want string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(backend), backend); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(backend.Status.Conditions, kind); c != nil && string(c.Status)+"/"+c.Reason == want {
			return nil
		}
		return fmt.Errorf("conditions: %+v", backend.Status.Conditions)
	})
}

// writes returns the writes of Groundskeeper's controller manager about a name, except for events.
func (d *discoveryPlane) writes(t *testing.T, about string) int {
	t.Helper()
	data, err := os.ReadFile(d.audit)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range bytes.Lines(data) {
		reads := slices.ContainsFunc([]string{"get", "list", "watch"}, func(verb string) bool { return bytes.Contains(line, []byte(`"verb":"`+verb+`"`)) })
		if !reads && bytes.Contains(line, []byte(about)) && bytes.Contains(line, []byte(own()[1])) && !bytes.Contains(line, []byte("/events")) {
			count++
		}
	}
	return count
}

func TestDiscoveryOperator(t *testing.T) {
	t.Parallel()
	d := newDiscoveryPlane(t)
	t.Run("a backend's life", d.life)
	t.Run("reach", d.reach)
	t.Run("bindings that are held", d.held)
}

// life creates a backend, changes its Secret, spoils it, and deletes the backend.
func (d *discoveryPlane) life(t *testing.T) {
	c := d.c
	backend, secret := d.backend(t, "gimbal-discovery")
	d.is(t, backend, gimbalv1.ConditionAvailable, "False/DiscovererStarting")
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: backend.Name + "-discoverer"}}
	change := func(object client.Object, edit func()) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			edit()
			return c.Update(ctx, object)
		})
	}
	is := func(what string, holds func() bool) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
				return err
			}
			if !holds() {
				return errors.New("the Deployment does not get " + what)
			}
			return nil
		})
	}
	// No kubelet runs here: the test writes the effects of a pod.
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		return c.Status().Update(ctx, deployment)
	})
	d.is(t, backend, gimbalv1.ConditionAvailable, "True/DiscovererRunning")

	// The controller recognizes its writes by their managed fields, so corrections do not continue indefinitely.
	before := d.writes(t, backend.Name)
	change(deployment, func() { deployment.Spec.Template.Spec.Containers[0].Image = "other" })
	is("its image back", func() bool { return deployment.Spec.Template.Spec.Containers[0].Image == "groundskeeper-discoverer" })
	// The status follows the new generations of the Deployment, which no controller observes here.
	d.is(t, backend, gimbalv1.ConditionAvailable, "True/RollingOut")
	// A reconciliation between a write and the cache's knowledge of it may repeat that write, which changes nothing.
	writes := 0
	eventually(t, func(context.Context) error { // a request is in the log after its response
		if writes = d.writes(t, backend.Name) - before; writes < 2 {
			return fmt.Errorf("a correction and the status take %d writes", writes)
		}
		return nil
	})
	if writes > 4 {
		t.Errorf("a correction and the status take %d writes", writes)
	}

	digest := func() string {
		return deployment.Spec.Template.Annotations["groundskeeper.io/credentials-digest"]
	}
	first := digest()
	change(secret, func() { secret.Data["config"] = []byte("broken") })
	d.is(t, backend, gimbalv1.ConditionCredentialsValid, "False/SecretInvalid")
	if len(backend.Status.Errors) != 1 || backend.Status.Errors[0].Type != gimbalv1.ErrorAuthentication {
		t.Errorf("errors: %+v", backend.Status.Errors)
	}
	is("left alone", func() bool { return digest() == first })
	change(secret, func() { secret.Data["config"] = []byte(strings.Replace(discoveryKubeconfig, "first", "second", 1)) })
	is("the new credentials", func() bool { return digest() != first })
	d.is(t, backend, gimbalv1.ConditionCredentialsValid, "Unknown/NotTried")
	if len(backend.Status.Errors) != 0 {
		t.Errorf("errors after the repair: %+v", backend.Status.Errors)
	}

	shop := d.namespace(t, "shop")
	labels := map[string]string{gimbalv1.LabelBackend: backend.Name, "app.kubernetes.io/managed-by": "groundskeeper-discoverer"}
	copied := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: backend.Name + "-web", Labels: labels}}
	copied.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	foreign := copied.DeepCopy()
	foreign.Name, foreign.Labels = "foreign", map[string]string{gimbalv1.LabelBackend: backend.Name}
	for _, object := range []client.Object{copied, foreign} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Delete(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "groundskeeper-discoverer-services-" + backend.Name}}
	eventually(t, func(ctx context.Context) error {
		for _, object := range []client.Object{backend, deployment, copied, binding} {
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s: %w", object, object.GetName(), err)
			}
		}
		return nil
	})
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Error(err)
	}
}

// reach: a backend of an ordinary namespace reaches that namespace, whatever its author writes.
func (d *discoveryPlane) reach(t *testing.T) {
	c, namespace := d.c, d.namespace(t, "reach")
	backend, _ := d.backend(t, namespace)
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(backend), backend); err != nil {
			return err
		}
		backend.Cluster.Namespaces = gimbalv1.NamespacePolicy{Allow: []string{"kube-system"}, Missing: gimbalv1.MissingNamespaceCreate}
		return c.Update(ctx, backend)
	})
	if got := backend.Cluster.Namespaces.Allow; !slices.Equal(got, []string{namespace}) {
		t.Errorf("allowed: %q", got)
	}
	d.is(t, backend, gimbalv1.ConditionAvailable, "False/DiscovererStarting")
	account, service := d.account(t, backend), serviceIn
	eventually(t, func(ctx context.Context) error { return account.Create(ctx, service(namespace), client.DryRunAll) })
	for what, err := range map[string]error{
		"create a Service elsewhere": account.Create(t.Context(), service("default"), client.DryRunAll),
		"list all Services":          account.List(t.Context(), &corev1.ServiceList{}),
		"create a namespace":         account.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, client.DryRunAll),
		"read Secrets":               account.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)),
	} {
		if !isRejected(err) {
			t.Errorf("the discoverer may %s: %v", what, err)
		}
	}
}

// account is a client with the permissions of the discoverer of a backend.
func (d *discoveryPlane) account(t *testing.T, backend *gimbalv1.DiscoveryBackend) client.WithWatch {
	t.Helper()
	config := rest.CopyConfig(d.Config())
	user, groups := account(backend.Namespace, backend.Name+"-discoverer")
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return clientOf(t, config)
}

func serviceIn(namespace string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
}

// held: an admin of a Project may change the metadata of the bindings of a discoverer in its namespace, and manage the service accounts
// there. When the backend is deleted, the bindings have no subjects left, even if they have finalizers and lost their labels while no
// controller manager ran.
func (d *discoveryPlane) held(t *testing.T) {
	backend, _ := d.backend(t, d.namespace(t, "held"))
	d.is(t, backend, gimbalv1.ConditionAvailable, "False/DiscovererStarting")
	account := d.account(t, backend)
	eventually(t, func(ctx context.Context) error {
		return account.Create(ctx, serviceIn(backend.Namespace), client.DryRunAll)
	})
	if err := d.Managers[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var bindings []*rbacv1.RoleBinding
	for _, role := range []string{"groundskeeper-discoverer-backend-", "groundskeeper-discoverer-services-"} {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: role + backend.Name}}
		if err := d.c.Patch(t.Context(), binding, mergePatch(holds)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.c.Patch(context.WithoutCancel(t.Context()), binding, mergePatch(unkeeps)) })
		bindings = append(bindings, binding)
	}
	if err := d.c.Delete(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	if err := d.Managers[0].Start(t.Context(), d.config); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(backend), backend); !apierrors.IsNotFound(err) {
			return fmt.Errorf("backend %s: error %w, want not found", backend.Name, err)
		}
		return nil
	})
	for _, binding := range bindings {
		if err := d.c.Get(t.Context(), client.ObjectKeyFromObject(binding), binding); err != nil || len(binding.Subjects) > 0 {
			t.Errorf("the backend is gone, but RoleBinding %s has the subjects %v, %v", binding.Name, binding.Subjects, err)
		}
	}
	eventually(t, func(ctx context.Context) error { // kube-apiserver receives bindings by a watch
		if err := account.Create(ctx, serviceIn(backend.Namespace), client.DryRunAll); !isRejected(err) {
			return fmt.Errorf("the account of the former discoverer creates a Service: error %w, want Forbidden", err)
		}
		return nil
	})
}
