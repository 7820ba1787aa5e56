// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

func TestAnnounce(t *testing.T) {
	k := klustertest.Kluster("k", toBeAnnounced, func(k *kubernikusv1.Kluster) { k.Spec.Discovery.DrainPolicy = kubernikusv1.DrainKeepSole })
	f := newFlow(t, k, credentials("k-secret", "https://a.example"))
	f.want(k, "True/Announced")
	// Objects are recorded before they are created, and the credentials exist before the object that needs them.
	if want := []string{"apply status", "create", "create", "apply status"}; !slices.Equal(f.store.Verbs(), want) {
		t.Errorf("writes %v, want %v", f.store.Writes(), want)
	}
	backend, secret := f.there(k, discoveryNamespace)
	if backend == nil || !clusterid.IsMadeFor(k, backend) || backend.Cluster.Type != gimbalv1.BackendKubernetes ||
		backend.Cluster.Secret != "k-discovery" || backend.Cluster.DrainPolicy != gimbalv1.DrainKeepSole || len(backend.OwnerReferences) > 0 {
		t.Errorf("backend %+v", backend)
	}
	if secret == nil || !clusterid.IsMadeFor(k, secret) || len(secret.Data) != 1 || !bytes.Equal(secret.Data["config"], kubeconfigFor("https://a.example")) || len(secret.OwnerReferences) > 0 {
		t.Errorf("secret %+v", secret)
	}
	if text := f.events(); !strings.HasPrefix(text, "Normal Announced") || strings.Contains(text, "\n") {
		t.Errorf("events: %s", text)
	}
	f.quiet(k)

	// A Kluster that is not announced costs nothing.
	other := klustertest.Kluster("other")
	f.store.Add(other)
	f.store.Read = func(_ string, object runtime.Object) error { t.Errorf("it requests a %T", object); return nil }
	f.quiet(other)
}

// TestRecordComesFirst checks that a write is recorded before it is sent, so that it is known after a crash in between.
func TestRecordComesFirst(t *testing.T) {
	k := klustertest.Kluster("k", toBeAnnounced)
	f := newFlow(t, k, credentials("k-secret", "https://a.example"))
	f.store.Fault = func(_ int, w kubetest.Write) error {
		if _, backend := w.Object.(*gimbalv1.DiscoveryBackend); backend && w.Verb == "create" {
			return errors.New("the process ends")
		}
		return nil
	}
	if _, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)}); err == nil {
		t.Fatal("a failure is no error")
	}
	if f.store.Find(k); klustertest.Condition(k, kubernikusv1.ConditionAnnounced) != "False/Announcing" {
		t.Errorf("got %+v", k.Status.Conditions)
	}
	// Disabled now, the Secret does not stay behind.
	f.store.Fault = nil
	f.store.Change(k, func() { k.Spec.Discovery = nil })
	f.want(k, "")
	if backend, secret := f.there(k, discoveryNamespace); backend != nil || secret != nil {
		t.Errorf("left %v, %v", backend, secret)
	}
	f.quiet(k)
}

// TestStep checks that changes are synced, drift is reverted, and the user's fields remain.
func TestStep(t *testing.T) {
	f, k := newAnnounced(t)
	backend, secret := f.there(k, discoveryNamespace)
	source := credentials("k-secret", "")
	step := func(what string, object client.Object, how func(), writes ...string) {
		t.Helper()
		f.store.ResetLog()
		f.store.Change(object, how)
		f.want(k, "True/Announced")
		if !slices.Equal(f.store.Verbs(), writes) {
			t.Errorf("%s: writes %v, want %v", what, f.store.Writes(), writes)
		}
		f.store.Find(backend)
		f.store.Find(secret)
		f.quiet(k)
	}
	step("new credentials", source, func() { source.Data[kluster.KeyKubeconfig] = kubeconfigFor("https://b.example") }, "apply")
	if !bytes.Equal(secret.Data["config"], kubeconfigFor("https://b.example")) {
		t.Error("the Secret is not in sync")
	}
	step("credentials of the cloud", source, func() { source.Data["openstack-password"] = []byte("new") })
	step("drift of the Secret", secret, func() { secret.Data = map[string][]byte{"config": []byte("x"), "more": []byte("y")} }, "apply")
	if !bytes.Equal(secret.Data["config"], kubeconfigFor("https://b.example")) || string(secret.Data["more"]) != "y" {
		t.Errorf("the Secret has %d keys", len(secret.Data))
	}
	step("drift of the backend", backend, func() { backend.Cluster.DrainPolicy = gimbalv1.DrainKeepSole }, "apply")
	if backend.Cluster.DrainPolicy != gimbalv1.DrainStrict {
		t.Error("the policy is not brought back")
	}
	step("the user's fields", backend, func() {
		backend.Cluster.ClusterStatus, backend.Cluster.RefreshInterval = gimbalv1.ClusterMaintenance, new(int32(5))
	})
	step("another policy", k, func() { k.Spec.Discovery.DrainPolicy = kubernikusv1.DrainKeepSole }, "apply", "apply status")
	if backend.Cluster.DrainPolicy != gimbalv1.DrainKeepSole || backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || *backend.Cluster.RefreshInterval != 5 {
		t.Errorf("backend %+v", backend.Cluster)
	}
	for _, object := range []client.Object{backend, secret} {
		f.store.Remove(object)
	}
	f.want(k, "True/Announced")
	if backend, secret := f.there(k, discoveryNamespace); backend == nil || secret == nil {
		t.Error("what was deleted does not come back")
	}
}

// TestCredentialsField checks that the Secret may be named in the other field, which is retained.
func TestCredentialsField(t *testing.T) {
	f, k := newAnnounced(t)
	backend, _ := f.there(k, discoveryNamespace)
	f.store.Change(backend, func() { backend.Cluster.Secret, backend.Cluster.Credentials = "", "k-discovery" })
	f.quiet(k)
	f.store.Change(k, func() { k.Spec.Discovery.DrainPolicy = kubernikusv1.DrainKeepSole })
	f.want(k, "True/Announced")
	if f.store.Find(backend); backend.Cluster.DrainPolicy != gimbalv1.DrainKeepSole || backend.Cluster.Secret != "" {
		t.Errorf("backend %+v", backend.Cluster)
	}
	f.withdraw(k, "moved away", "apply")
	if f.store.Find(backend); backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || backend.Cluster.Secret != "" || backend.Cluster.Credentials != "k-discovery" {
		t.Errorf("backend %+v", backend.Cluster)
	}
}

// TestCreateWithConcurrentChange checks that the next reconcile decides about an object that came between the check and the write.
func TestCreateWithConcurrentChange(t *testing.T) {
	k := klustertest.Kluster("k", toBeAnnounced)
	f := newFlow(t, k, credentials("k-secret", "https://a.example"))
	f.store.Fault = func(_ int, write kubetest.Write) error {
		if write.Verb == "create" {
			f.store.Fault = nil
			f.store.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: secretName(k)}})
		}
		return nil
	}
	_, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
	if !errors.Is(err, kit.ErrChanged) {
		t.Errorf("error = %v, want a concurrent change", err)
	}
	f.want(k, "False/NameTaken")
}

// TestWriteWithConcurrentChanges checks that an object that another client took over between the check and the write is not
// overwritten.
func TestWriteWithConcurrentChanges(t *testing.T) {
	f, k := newAnnounced(t)
	backend, secret := f.there(k, discoveryNamespace)
	source := credentials("k-secret", "")
	for _, object := range []client.Object{secret, backend} {
		f.store.Fault = func(int, kubetest.Write) error {
			f.store.Fault = nil
			f.store.Change(object, func() { object.SetLabels(nil) })
			return nil
		}
		if object == client.Object(secret) {
			f.store.Change(source, func() { source.Data[kluster.KeyKubeconfig] = kubeconfigFor("https://b.example") })
		} else {
			f.store.Change(k, func() { k.Spec.Discovery.DrainPolicy = kubernikusv1.DrainKeepSole })
		}
		_, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
		if !apierrors.IsConflict(err) {
			t.Errorf("%T: error = %v, want a conflict", object, err)
		}
		if f.store.Find(object); len(object.GetLabels()) > 0 || string(secret.Data["config"]) != string(kubeconfigFor("https://a.example")) {
			t.Errorf("%T is overwritten", object)
		}
		f.want(k, "False/NameTaken")
		f.store.Change(object, func() { object.SetLabels(labelsOf(k)) })
		f.store.Change(source, func() { source.Data[kluster.KeyKubeconfig] = kubeconfigFor("https://a.example") })
	}
}

// TestCredentialsThatFail checks that, without usable credentials, the announcement remains unchanged.
func TestCredentialsThatFail(t *testing.T) {
	f, k := newAnnounced(t)
	source := credentials("k-secret", "")
	for _, tc := range []struct {
		how  func()
		want string
	}{
		{func() { source.Data[kluster.KeyKubeconfig] = []byte(hidden) }, "False/SecretInvalid"},
		{func() { delete(source.Data, kluster.KeyKubeconfig) }, "False/NoCredentials"},
		{func() { source.Data[kluster.KeyKubeconfig] = kubeconfigFor("https://a.example") }, "True/Announced"},
	} {
		f.store.Change(source, tc.how)
		f.want(k, tc.want)
		f.quiet(k)
	}
	f.store.Remove(source)
	f.want(k, "False/SecretMissing")
	if backend, secret := f.there(k, discoveryNamespace); backend == nil || secret == nil || !bytes.Equal(secret.Data["config"], kubeconfigFor("https://a.example")) {
		t.Error("what was announced did not stay")
	}
	if text := f.events(); strings.Contains(text, hidden) || strings.Count(text, "Warning") != 3 {
		t.Errorf("events: %s", text)
	}
}

// TestNameTaken checks that another client's object is not changed, and that a Kluster that waits for its name continues when it is
// free.
func TestNameTaken(t *testing.T) {
	k := klustertest.Kluster("k", toBeAnnounced)
	backend, secret := backendOf(k), secretOf(k)
	backend.Labels, secret.Labels = nil, nil
	f := newFlow(t, k, credentials("k-secret", "https://a.example"), backend, secret)
	for _, object := range []client.Object{backend, secret} {
		f.want(k, "False/NameTaken")
		f.quiet(k)
		if _, result := f.reconcile(k); result.RequeueAfter != blockedPause {
			t.Errorf("it comes back after %s", result.RequeueAfter)
		}
		before := object.DeepCopyObject().(client.Object)
		if f.store.Find(object); before.GetResourceVersion() != object.GetResourceVersion() {
			t.Errorf("it is touched: %+v", object)
		}
		f.store.Remove(object)
	}
	f.want(k, "True/Announced")

	// The Secret of the Kluster itself can have the name, too.
	own := klustertest.Kluster("own", toBeAnnounced, func(k *kubernikusv1.Kluster) {
		k.Spec.Discovery.Namespace, k.Spec.SecretRef.Name = k.Namespace, "own-discovery"
	})
	source := credentials("own-discovery", "https://a.example")
	f.store.Add(own, source)
	f.want(own, "False/NameTaken")
	if f.store.Find(source); source.Data[keyConfig] != nil {
		t.Error("the Secret of the Kluster was overwritten")
	}
}

// TestLeftAlone checks that a Kluster that is being deleted is left to Deorbit, that a paused one is not reconciled, and that
// without a finalizer there is no cleanup.
func TestLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*kubernikusv1.Kluster){
		"it is being deleted": klustertest.Going, "it is paused": klustertest.Annotated("groundskeeper.io/paused"),
		"it has no finalizer": func(k *kubernikusv1.Kluster) { k.Finalizers = []string{"somebody/else"} },
	} {
		k := klustertest.Kluster("k", toBeAnnounced, change)
		f := newFlow(t, k, credentials("k-secret", "https://a.example"))
		if f.quiet(k); current(k) != nil {
			t.Errorf("%s: %+v", name, current(k))
		}
		// The cache may be behind.
		f.store.Stale(klustertest.Kluster("k", toBeAnnounced))
		if f.quiet(k); current(k) != nil {
			t.Errorf("%s, and the cache does not know: %+v", name, current(k))
		}
	}
}

// TestRejected checks that rejections by the API server are reported, without any content of the Secret.
func TestRejected(t *testing.T) {
	resource := gimbalv1.Resource("discoverybackends")
	for name, tc := range map[string]struct {
		secret, backend error
		neighbour       string
		want            string
		message         string
	}{
		"the Secret":                {secret: apierrors.NewForbidden(corev1.Resource("secrets"), "k-discovery", errors.New(hidden)), want: "False/Refused", message: "(Forbidden)"},
		"no such namespace":         {secret: apierrors.NewNotFound(corev1.Resource("namespaces"), discoveryNamespace), want: "False/Refused", message: "is namespace gimbal-discovery there"},
		"the backend":               {backend: apierrors.NewForbidden(resource, "k", errors.New("a policy denies it")), want: "False/Refused", message: "a policy denies it"},
		"a name elsewhere":          {backend: apierrors.NewForbidden(resource, "k", errors.New("taken")), neighbour: "k", want: "False/NameTaken", message: `DiscoveryBackend elsewhere/k has the name`},
		"a name that begins":        {backend: apierrors.NewForbidden(resource, "k", errors.New("taken")), neighbour: "k-1", want: "False/NameTaken", message: `DiscoveryBackend elsewhere/k-1`},
		"another client was faster": {backend: apierrors.NewAlreadyExists(resource, "k"), want: "False/Announcing"},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", toBeAnnounced)
			f := newFlow(t, k, credentials("k-secret", "https://a.example"))
			if tc.neighbour != "" {
				f.store.Add(&gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: tc.neighbour}})
			}
			f.store.Fault = func(_ int, w kubetest.Write) error {
				switch w.Object.(type) {
				case *corev1.Secret:
					return tc.secret
				case *gimbalv1.DiscoveryBackend:
					return tc.backend
				}
				return nil
			}
			f.want(k, tc.want)
			if c := current(k); !strings.Contains(c.Message, tc.message) || strings.Contains(c.Message+f.events(), hidden) {
				t.Errorf("message %q", c.Message)
			}
			// A change of an existing object can be rejected, too, and its own name is not another owner's.
			if tc.want == "False/Refused" && tc.backend != nil {
				mine := backendOf(k)
				mine.UID, mine.Cluster.DrainPolicy = "", gimbalv1.DrainKeepSole
				f.store.Add(mine)
				f.store.Fault = func(_ int, w kubetest.Write) error {
					if w.Verb == "apply" {
						return tc.backend
					}
					return nil
				}
				f.want(k, tc.want)
			}
			f.store.Fault = nil
			if tc.neighbour == "" {
				f.want(k, "True/Announced")
			}
		})
	}
}
