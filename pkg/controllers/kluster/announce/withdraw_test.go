// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// withdraw takes one step of Deorbit's, and checks what remains and what was written.
func (f *flow) withdraw(k *kubernikusv1.Kluster, remaining string, writes ...string) stage.Report {
	f.t.Helper()
	f.store.ResetLog()
	report, err := Withdraw(f.t.Context(), f.r.client, f.r.live, k)
	if err != nil {
		f.t.Fatal(err)
	}
	var text []string
	for _, object := range report.Remaining {
		text = append(text, object.Kind+" "+object.Namespace+"/"+object.Name+": "+object.Reason)
	}
	if got := strings.Join(text, "; "); remaining == "" && got != "" || !strings.Contains(got, remaining) {
		f.t.Errorf("remaining %q, want %q", got, remaining)
	}
	if !slices.Equal(f.store.Verbs(), writes) {
		f.t.Errorf("writes %v, want %v", f.store.Writes(), writes)
	}
	return report
}

// held keeps a backend until the operator has released it.
func (f *flow) held(backend *gimbalv1.DiscoveryBackend) {
	f.t.Helper()
	f.store.Find(backend)
	backend.Finalizers = []string{gimbalv1.FinalizerName}
	if err := f.store.Update(f.t.Context(), backend); err != nil {
		f.t.Fatal(err)
	}
}

func (f *flow) release(backend *gimbalv1.DiscoveryBackend) {
	f.t.Helper()
	f.store.Find(backend)
	backend.Finalizers = nil
	if err := f.store.Update(f.t.Context(), backend); err != nil {
		f.t.Fatal(err)
	}
}

// TestWithdraw checks that traffic is drained first, then the backend is deleted, then its Secret: one step per call, none of them
// twice.
func TestWithdraw(t *testing.T) {
	f, k := newAnnounced(t)
	backend, _ := f.there(k, discoveryNamespace)
	f.held(backend)
	// Earlier corrections are retained as well.
	f.store.Change(backend, func() { backend.Cluster.Secret = "mine" })
	f.want(k, "True/Announced")
	// An object without all of Groundskeeper's labels, or with another name, belongs to another owner.
	sameName, otherName, sameSecret, otherSecret := backendOf(k), backendOf(k), secretOf(k), secretOf(k)
	sameName.Namespace, sameSecret.Namespace = "elsewhere", "elsewhere"
	sameName.Labels = map[string]string{clusterid.LabelUID: string(k.UID)}
	sameSecret.Labels = sameName.Labels
	otherName.Name, otherSecret.Name = "joke", "joke"
	stay := []client.Object{sameName, otherName, sameSecret, otherSecret, backendOf(klustertest.Kluster("other"))}
	f.store.Add(stay...)
	f.withdraw(k, "DiscoveryBackend gimbal-discovery/k: its traffic is being moved away", "apply")
	if f.store.Find(backend); backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || backend.Cluster.Secret != "k-discovery" || !clusterid.IsMadeFor(k, backend) {
		t.Errorf("backend %+v", backend)
	}
	f.withdraw(k, "not Drained yet")
	f.drain(backend)
	if report := f.withdraw(k, "drained, and being deleted", "delete"); len(report.Deleted) != 1 || report.Deleted[0].Kind != "DiscoveryBackend" {
		t.Errorf("deleted %v", report.Deleted)
	}
	f.withdraw(k, "it is being deleted")
	if _, secret := f.there(k, discoveryNamespace); secret == nil {
		t.Error("the Secret has been deleted before the backend")
	}
	f.release(backend)
	if report := f.withdraw(k, "", "delete"); len(report.Deleted) != 1 || report.Deleted[0].Kind != "Secret" || report.Deleted[0].Name != "k-discovery" {
		t.Errorf("deleted %v", report.Deleted)
	}
	f.withdraw(k, "")
	if backend, secret := f.there(k, discoveryNamespace); backend != nil || secret != nil {
		t.Errorf("left %v, %v", backend, secret)
	}
	for _, object := range stay {
		if !f.store.Find(object) {
			t.Errorf("another client's %s/%s has been deleted", object.GetNamespace(), object.GetName())
		}
	}
	if source := credentials("k-secret", ""); !f.store.Find(source) {
		t.Error("the Secret of the Kluster has been deleted")
	}
}

// TestWithdrawWithConcurrentChanges checks that an object that changed since the check is checked again.
func TestWithdrawWithConcurrentChanges(t *testing.T) {
	f, k := newAnnounced(t)
	backend, secret := f.there(k, discoveryNamespace)
	conflict := apierrors.NewConflict(gimbalv1.Resource("discoverybackends"), "k", errors.New("changed"))
	f.store.Fault = func(int, kubetest.Write) error { return conflict }
	f.withdraw(k, reasonChanged, "apply")
	f.store.Fault = nil
	f.withdraw(k, "moved away", "apply")
	f.drain(backend)
	// Between the check and the deletion a user changes it.
	f.store.Fault = func(int, kubetest.Write) error {
		f.store.Fault = nil
		f.store.Change(backend, func() { backend.Cluster.Debug = true })
		return nil
	}
	f.withdraw(k, reasonChanged, "delete")
	if !f.store.Find(backend) {
		t.Fatal("what was changed is deleted")
	}
	f.drain(backend)
	f.withdraw(k, "being deleted", "delete")
	f.store.Fault = func(int, kubetest.Write) error {
		f.store.Fault = nil
		f.store.Change(secret, func() { secret.Data["more"] = nil })
		return nil
	}
	f.withdraw(k, "Secret gimbal-discovery/k-discovery: "+reasonChanged, "delete")
	// A Secret that is being deleted already is not waited for, regardless of its finalizers.
	f.store.Change(secret, func() { secret.Finalizers = []string{"somebody/else"} })
	f.withdraw(k, "", "delete")
	f.withdraw(k, "")
	if !f.store.Find(secret) || secret.DeletionTimestamp.IsZero() {
		t.Error("the finalizer of another client was ignored")
	}
}

// TestWithdrawNeedsCompleteLists checks that nothing is concluded from a failed or incomplete list.
func TestWithdrawNeedsCompleteLists(t *testing.T) {
	f, k := newAnnounced(t)
	for name, read := range map[string]func(string, runtime.Object) error{
		"backends fail": func(_ string, object runtime.Object) error {
			if _, ok := object.(*gimbalv1.DiscoveryBackendList); ok {
				return apierrors.NewServiceUnavailable("away")
			}
			return nil
		},
	} {
		f.store.Read = read
		if report, err := Withdraw(t.Context(), f.r.client, f.r.live, k); err == nil || f.store.Count() > 0 {
			t.Errorf("%s: %+v, writes %v", name, report, f.store.Writes())
		}
	}
	f.store.Read = nil
	for _, kind := range []string{"DiscoveryBackends", "Secrets"} {
		if kind == "Secrets" {
			backend, _ := f.there(k, discoveryNamespace)
			f.store.Remove(backend)
		}
		_, err := Withdraw(t.Context(), f.r.client, partial{f.store}, k)
		if err == nil || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), "the API server returned only") || f.store.Count() > 0 {
			t.Errorf("a part of the %s: %v, writes %v", kind, err, f.store.Writes())
		}
	}
}

// partial lists only a part.
type partial struct{ client.Reader }

func (p partial) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := p.Reader.List(ctx, list, options...); err != nil {
		return err
	}
	if _, secrets := list.(*metav1.PartialObjectMetadataList); secrets || meta.LenList(list) > 0 {
		list.SetContinue("more")
	}
	return nil
}

// TestNotServed checks that, where DiscoveryBackends are not served, a Kluster that was never announced can be deleted.
func TestNotServed(t *testing.T) {
	unserved := func(_ string, object runtime.Object) error {
		switch object.(type) {
		case *gimbalv1.DiscoveryBackend, *gimbalv1.DiscoveryBackendList:
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: gimbalv1.GroupName, Kind: "DiscoveryBackend"}}
		}
		return nil
	}
	f, k := newAnnounced(t)
	f.store.Read = unserved
	f.withdraw(k, "DiscoveryBackend /k: it is unknown")
	f.withdraw(klustertest.Kluster("never"), "")
	f.store.Change(k, func() { k.Spec.Discovery.Enabled = false })
	f.want(k, "False/NotServed")
	f.quiet(k)

	fresh := klustertest.Kluster("fresh", toBeAnnounced)
	f.store.Add(fresh, credentials("fresh-secret", "https://a.example"))
	f.want(fresh, "False/NotServed")
	f.quiet(fresh)
	if backend, secret := f.there(fresh, discoveryNamespace); backend != nil || secret != nil {
		t.Errorf("made %v, %v", backend, secret)
	}
	f.store.Read = nil
	f.want(fresh, "True/Announced")
}

// TestDisable checks that a Kluster whose announcement is disabled is withdrawn as gracefully as one that is being deleted.
func TestDisable(t *testing.T) {
	f, k := newAnnounced(t)
	backend, _ := f.there(k, discoveryNamespace)
	f.store.Change(k, func() { k.Spec.Discovery.Enabled = false })
	f.want(k, "False/Withdrawing")
	if _, result := f.reconcile(k); result.RequeueAfter != withdrawPause {
		t.Errorf("it comes back after %s", result.RequeueAfter)
	}
	f.quiet(k)
	f.drain(backend)
	f.want(k, "False/Withdrawing")
	f.want(k, "")
	f.quiet(k)
	if backend, secret := f.there(k, discoveryNamespace); backend != nil || secret != nil {
		t.Errorf("left %v, %v", backend, secret)
	}
	if text := f.events(); !strings.HasPrefix(text, "Normal Withdrawing") || !strings.Contains(text, "Normal Withdrawn") {
		t.Errorf("events: %s", text)
	}
}

// TestReEnable checks that enabling the announcement again restores the traffic, unless the user requested maintenance as well.
func TestReEnable(t *testing.T) {
	for _, maintained := range []bool{false, true} {
		f, k := newAnnounced(t)
		backend, _ := f.there(k, discoveryNamespace)
		if maintained {
			f.store.Change(backend, func() { backend.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance })
		}
		f.store.Change(k, func() { k.Spec.Discovery.Enabled = false })
		f.want(k, "False/Withdrawing")
		if f.store.Find(backend); backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance {
			t.Fatalf("backend %+v", backend.Cluster)
		}
		f.store.Change(k, func() { k.Spec.Discovery.Enabled = true })
		f.want(k, "True/Announced")
		if f.store.Find(backend); (backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance) != maintained || backend.Cluster.Secret != "k-discovery" {
			t.Errorf("backend %+v, maintained by the user: %t", backend.Cluster, maintained)
		}
		f.quiet(k)
	}
}

// TestMove checks that a Kluster is announced in another namespace only after it was withdrawn from the previous one, because names
// are unique across namespaces.
func TestMove(t *testing.T) {
	f, k := newAnnounced(t)
	backend, _ := f.there(k, discoveryNamespace)
	f.store.Change(k, func() { k.Spec.Discovery.Namespace = "elsewhere" })
	f.want(k, "False/Withdrawing")
	if there, secret := f.there(k, "elsewhere"); there != nil || secret != nil {
		t.Errorf("made %v, %v", there, secret)
	}
	f.drain(backend)
	f.want(k, "False/Withdrawing")
	f.want(k, "True/Announced")
	if there, secret := f.there(k, discoveryNamespace); there != nil || secret != nil {
		t.Errorf("left %v, %v", there, secret)
	}
	if there, secret := f.there(k, "elsewhere"); there == nil || secret == nil {
		t.Error("it is not announced")
	}
}
