// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestProvide checks that a new backend gets all its objects, and that a second reconciliation, and one after a restart, write
// nothing.
func TestProvide(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
	sent := w.mustReconcile(backend)
	if len(sent) != 12 { // two of them for the addresses of the API server, once for all backends
		t.Errorf("%d requests: %q", len(sent), sent)
	}
	deployment := w.deployment(backend)
	if deployment == nil {
		t.Fatal("there is no Deployment")
	}
	if !metav1.IsControlledBy(deployment, backend) {
		t.Error("the Deployment does not belong to the backend")
	}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "east-discoverer"}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: roleBackend + "-east"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleServices + "-east"}},
	} {
		if !w.store.Find(object) {
			t.Errorf("there is no %s", describe(object))
		}
	}
	if got := w.condition(backend, gimbalv1.ConditionAvailable); got != "False/"+reasonStarting {
		t.Error(got)
	}
	// The reference to the Deployment, whose uid the first reconciliation may not have seen.
	w.mustReconcile(backend)
	if sent := w.mustReconcile(backend); len(sent) > 0 {
		t.Errorf("a reconciliation that changes nothing sends %q", sent)
	}
	w.reconciler.memory.secrets = map[types.NamespacedName]judgement{}
	if sent := w.mustReconcile(backend); !slices.Equal(sent, []string{"get Secret creds"}) {
		t.Errorf("a reconciliation after a restart sends %q", sent)
	}
}

// Drift of every part is corrected with one request.
func TestDriftIsCorrected(t *testing.T) {
	for name, tc := range map[string]struct {
		object client.Object
		edit   func(client.Object)
	}{
		"replicas": {&appsv1.Deployment{}, func(o client.Object) { o.(*appsv1.Deployment).Spec.Replicas = new(int32(0)) }},
		"image":    {&appsv1.Deployment{}, func(o client.Object) { o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = "other" }},
		"an argument more": {&appsv1.Deployment{}, func(o client.Object) {
			container := &o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0]
			container.Args = append(container.Args, "--debug")
		}},
		"privileges": {&appsv1.Deployment{}, func(o client.Object) {
			o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
		}},
		"label of the account": {&corev1.ServiceAccount{}, func(o client.Object) { o.SetLabels(map[string]string{labelName: discovererName}) }},
		"subject":              {&rbacv1.RoleBinding{}, func(o client.Object) { o.(*rbacv1.RoleBinding).Subjects[0].Name = "other" }},
		"subject everywhere":   {&rbacv1.ClusterRoleBinding{}, func(o client.Object) { o.(*rbacv1.ClusterRoleBinding).Subjects[0].Name = "other" }},
	} {
		t.Run(name, func(t *testing.T) {
			backend := testBackend(adminNamespace, "east")
			w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
			w.mustReconcile(backend)
			w.mustReconcile(backend)
			object := tc.object
			object.SetNamespace(adminNamespace)
			switch object.(type) {
			case *rbacv1.RoleBinding:
				object.SetName(roleBackend + "-east")
			case *rbacv1.ClusterRoleBinding:
				object.SetNamespace("")
				object.SetName(roleServices + "-east")
			default:
				object.SetName("east-discoverer")
			}
			w.store.Change(object, func() { tc.edit(object) })
			if sent := w.mustReconcile(backend); len(sent) != 1 || !strings.HasPrefix(sent[0], "apply ") {
				t.Errorf("the correction sends %q", sent)
			}
			if sent := w.mustReconcile(backend); len(sent) > 0 {
				t.Errorf("the reconciliation after it sends %q", sent)
			}
		})
	}
	// Additions by other clients, such as the sidecar of a mesh, remain.
	backend := testBackend(adminNamespace, "east")
	w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
	w.mustReconcile(backend)
	w.mustReconcile(backend)
	deployment := w.deployment(backend)
	w.store.Change(deployment, func() { deployment.Annotations = map[string]string{"somebody": "else"} })
	if sent := w.mustReconcile(backend); len(sent) > 0 {
		t.Errorf("the annotation of another client leads to %q", sent)
	}
}

// TestChangesReachTheDeployment checks that a change of the backend is applied to the Deployment, and that a deleted Deployment is
// recreated.
func TestChangesReachTheDeployment(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
	w.mustReconcile(backend)
	w.store.Change(backend, func() { backend.Cluster.Debug = true })
	w.mustReconcile(backend)
	if args := w.deployment(backend).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--debug") {
		t.Errorf("the arguments are %q", args)
	}
	w.store.Remove(w.deployment(backend))
	w.mustReconcile(backend)
	if w.deployment(backend) == nil {
		t.Error("a Deployment that a user deleted does not come back")
	}
}

// TestRotation checks that other content of the Secret replaces the pod, and that the same content in a new version does not.
func TestRotation(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	secret := testSecret(adminNamespace, testKubeconfig)
	w := newWorld(t, backend, secret)
	w.mustReconcile(backend)
	w.mustReconcile(backend)
	before := w.deployment(backend)
	w.store.Change(secret, func() { secret.Labels = map[string]string{"touched": "yes"} })
	if sent := w.mustReconcile(backend); !slices.Equal(sent, []string{"get Secret creds"}) {
		t.Errorf("the same credentials: %q", sent)
	}
	w.store.Change(secret, func() { secret.Data["backend-name"] = []byte("ignored") })
	w.mustReconcile(backend)
	if got := w.deployment(backend); got.ResourceVersion != before.ResourceVersion {
		t.Error("a key that the discoverer does not get restarts it")
	}
	w.store.Change(secret, func() {
		secret.Data[keyKubeconfig] = []byte(strings.ReplaceAll(testKubeconfig, "TOKEN", "OTHER"))
	})
	w.mustReconcile(backend)
	digestOf := func(d *appsv1.Deployment) string { return d.Spec.Template.Annotations[annotationDigest] }
	if after := w.deployment(backend); digestOf(after) == digestOf(before) || digestOf(after) == "" {
		t.Errorf("other credentials do not restart the discoverer: %q", digestOf(after))
	}
	other := testSecret(adminNamespace, testKubeconfig)
	other.Name, other.UID = "creds2", "secret2-uid"
	w.store.Add(other)
	w.store.Find(backend)
	w.store.Change(backend, func() { backend.Cluster.Secret = "creds2" })
	w.mustReconcile(backend)
	if got := w.deployment(backend).Spec.Template.Spec.Volumes[0].Secret.SecretName; got != "creds2" {
		t.Errorf("Secret %s is mounted", got)
	}
}

// TestUnusableCredentials checks that a deleted or unusable Secret is reported, and that the running discoverer is left alone.
func TestUnusableCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(w *world, secret *corev1.Secret)
		reason string
	}{
		"missing":  {func(w *world, secret *corev1.Secret) { w.store.Remove(secret) }, reasonSecretMissing},
		"no key":   {func(w *world, secret *corev1.Secret) { w.store.Change(secret, func() { secret.Data = nil }) }, reasonSecretInvalid},
		"nonsense": {func(w *world, s *corev1.Secret) { w.store.Change(s, func() { s.Data[keyKubeconfig] = []byte("x") }) }, reasonSecretInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			backend, secret := testBackend(adminNamespace, "east"), testSecret(adminNamespace, testKubeconfig)
			w := newWorld(t, backend, secret)
			w.mustReconcile(backend)
			deployment := w.deployment(backend)
			w.store.ChangeStatus(deployment, func() { deployment.Status.AvailableReplicas = 1 })
			w.mustReconcile(backend)
			before := w.deployment(backend)
			tc.spoil(w, secret)
			w.store.Find(backend)
			w.store.Change(backend, func() { backend.Cluster.Debug = true }) // would change the Deployment
			w.mustReconcile(backend)
			if after := w.deployment(backend); after == nil || after.ResourceVersion != before.ResourceVersion {
				t.Error("the Deployment was touched")
			}
			if got := w.condition(backend, gimbalv1.ConditionCredentialsValid); got != "False/"+tc.reason {
				t.Error(got)
			}
			if got := w.condition(backend, gimbalv1.ConditionAvailable); got != "True/"+reasonDiscoverer {
				t.Error(got)
			}
			if got := w.errors(backend); len(got) != 1 || !strings.HasPrefix(got[0], gimbalv1.ErrorAuthentication+`: Secret "creds"`) {
				t.Errorf("errors: %q", got)
			}
			if sent := w.mustReconcile(backend); len(sent) > 0 {
				t.Errorf("a second pass sends %q", sent)
			}
			if name == "missing" {
				secret = testSecret(adminNamespace, testKubeconfig)
				w.store.Add(secret)
			} else {
				w.store.Change(secret, func() { secret.Data = map[string][]byte{keyKubeconfig: []byte(testKubeconfig)} })
			}
			w.mustReconcile(backend)
			if got := w.errors(backend); len(got) > 0 {
				t.Errorf("errors after the repair: %q", got)
			}
			if args := w.deployment(backend).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--debug") {
				t.Error("the change that waited does not come")
			}
		})
	}
}

// TestNothingStartsWithoutCredentials checks that no pod is created without usable credentials, because it would crash.
func TestNothingStartsWithoutCredentials(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	w := newWorld(t, backend)
	w.mustReconcile(backend)
	if w.deployment(backend) != nil {
		t.Error("there is a Deployment")
	}
	if got := w.condition(backend, gimbalv1.ConditionAvailable); got != "False/"+reasonNotStarted {
		t.Error(got)
	}
}

// TestUnreadSecret checks that a Secret that could not be read changes nothing: the running discoverer is left alone, and the
// reconciliation is retried.
func TestUnreadSecret(t *testing.T) {
	backend, secret := testBackend(adminNamespace, "east"), testSecret(adminNamespace, testKubeconfig)
	w := newWorld(t, backend, secret)
	w.mustReconcile(backend)
	w.store.Change(secret, func() { secret.Data[keyKubeconfig] = []byte("changed") })
	before := w.deployment(backend)
	w.fault = func(request string) error {
		if strings.HasPrefix(request, "get Secret") {
			return errors.New("no response")
		}
		return nil
	}
	if _, _, err := w.reconcile(backend); err == nil {
		t.Error("no error")
	}
	if after := w.deployment(backend); after.ResourceVersion != before.ResourceVersion {
		t.Error("the Deployment was touched")
	}
	if got := w.condition(backend, gimbalv1.ConditionCredentialsValid); got != "Unknown/"+reasonSecretUnknown {
		t.Error(got)
	}
	if got := w.errors(backend); len(got) > 0 {
		t.Errorf("errors: %q", got)
	}
}

// TestForeignObjectsStay checks that another client's object of the same name is neither adopted nor changed.
func TestForeignObjectsStay(t *testing.T) {
	for _, object := range []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "east-discoverer", Labels: map[string]string{labelName: discovererName}}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "east-discoverer"}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: roleBackend + "-east"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleServices + "-east"}},
	} {
		t.Run(describe(object), func(t *testing.T) {
			object.SetUID("foreign")
			backend := testBackend(adminNamespace, "east")
			w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig), object)
			w.store.Find(object)
			before := object.GetResourceVersion()
			_, result, err := w.reconcile(backend)
			if err != nil || result.RequeueAfter != conflictPeriod {
				t.Errorf("%v, %v", result, err)
			}
			w.store.Find(object)
			if object.GetResourceVersion() != before {
				t.Error("it was changed")
			}
			if got := w.errors(backend); len(got) != 1 || !strings.HasPrefix(got[0], gimbalv1.ErrorConflict+": "+describe(object)) {
				t.Errorf("errors: %q", got)
			}
		})
	}
}

// The permissions of a backend follow its namespace and its policy; what it no longer needs is removed.
func TestPermissionsAreRevoked(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	backend.Cluster.Namespaces.Missing = gimbalv1.MissingNamespaceCreate
	w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
	w.mustReconcile(backend)
	create := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleNamespaces + "-east"}}
	everywhere := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleServices + "-east"}}
	foreign := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "foreign", Labels: map[string]string{labelName: discovererName, labelInstance: "east"}}}
	w.store.Add(foreign)
	if !w.store.Find(create) || !w.store.Find(everywhere) {
		t.Fatal("a binding does not exist")
	}
	w.store.Find(backend)
	w.store.Change(backend, func() { backend.Cluster.Namespaces.Missing = gimbalv1.MissingNamespaceWait })
	w.mustReconcile(backend)
	if w.store.Find(create) || !w.store.Find(everywhere) {
		t.Error("permission to create namespaces stays, or too much went")
	}
	w.reconciler.admins = nil
	w.mustReconcile(backend)
	if w.store.Find(everywhere) {
		t.Error("a namespace that is not an admin's any more keeps its reach")
	}
	if !w.store.Find(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: roleServices + "-east"}}) {
		t.Error("it may not publish in its own namespace")
	}
	if !w.store.Find(foreign) {
		t.Error("a binding that Groundskeeper did not make has been deleted")
	}
}

// TestPermissionsAreRevokedWhateverTheirMetadata checks that neither a finalizer nor the loss of all marks keeps a permission, that a
// binding of the same name with another subject stays, and that nothing is written afterwards.
func TestPermissionsAreRevokedWhateverTheirMetadata(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*rbacv1.ClusterRoleBinding)
		want int
	}{
		"a finalizer": {func(b *rbacv1.ClusterRoleBinding) { b.Finalizers = []string{"example.com/hold"} }, 0},
		"no label":    {func(b *rbacv1.ClusterRoleBinding) { b.Labels = nil }, 0},
		"both":        {func(b *rbacv1.ClusterRoleBinding) { b.Labels, b.Finalizers = nil, []string{"example.com/hold"} }, 0},
		"of another":  {func(b *rbacv1.ClusterRoleBinding) { b.Labels, b.Subjects[0].Name = nil, "another" }, 1},
	} {
		for _, deleted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deleted %t", name, deleted), func(t *testing.T) {
				backend := testBackend(adminNamespace, "east")
				w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
				w.mustReconcile(backend)
				binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleServices + "-east"}}
				w.store.Find(binding)
				w.store.Change(binding, func() { test.edit(binding) })
				if deleted && len(binding.Finalizers) > 0 {
					w.store.Remove(binding)
				}
				w.reconciler.admins = nil
				w.store.Find(backend)
				w.store.Change(backend, func() { backend.Generation++ })
				w.mustReconcile(backend)
				got := 0
				if w.store.Find(binding) {
					got = len(binding.Subjects)
				}
				if got != test.want {
					t.Errorf("subjects = %v, want %d", binding.Subjects, test.want)
				}
				if sent := w.mustReconcile(backend); len(sent) > 0 {
					t.Errorf("requests when nothing changed = %q, want none", sent)
				}
			})
		}
	}
}

// TestFinalizerFirst checks that a backend without the finalizer gets it before any object is created for it.
func TestFinalizerFirst(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	backend.Finalizers = nil
	w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
	if sent := w.mustReconcile(backend); sent[0] != "patch DiscoveryBackend east" {
		t.Errorf("first request: %q", sent[0])
	}
	w.store.Find(backend)
	if !slices.Contains(backend.Finalizers, gimbalv1.FinalizerName) {
		t.Error("there is no finalizer")
	}
}
