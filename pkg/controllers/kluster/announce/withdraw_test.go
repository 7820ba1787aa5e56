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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// withdraw takes one step of Deorbit's, and checks what remains and what was written.
func (f *flow) withdraw(k *kubernikusv1.Kluster, remaining string, writes ...string) stage.Report {
	f.t.Helper()
	f.writes = nil
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
	if !slices.Equal(f.writes, writes) {
		f.t.Errorf("writes %v, want %v", f.writes, writes)
	}
	return report
}

// held keeps a backend until the operator has released it.
func (f *flow) held(backend *gimbalv1.DiscoveryBackend) {
	f.t.Helper()
	f.get(backend)
	backend.Finalizers = []string{gimbalv1.FinalizerName}
	if err := f.store.Update(f.t.Context(), backend); err != nil {
		f.t.Fatal(err)
	}
}

func (f *flow) release(backend *gimbalv1.DiscoveryBackend) {
	f.t.Helper()
	f.get(backend)
	backend.Finalizers = nil
	if err := f.store.Update(f.t.Context(), backend); err != nil {
		f.t.Fatal(err)
	}
}

// Traffic first, then the backend, then its Secret: one step at each call, and none is taken twice.
func TestWithdraw(t *testing.T) {
	f, k := newAnnounced(t)
	backend, _ := f.there(k, discoveryNamespace)
	f.held(backend)
	// What was corrected before is kept as well.
	f.change(backend, func() { backend.Cluster.Secret = "mine" })
	f.want(k, "True/Announced")
	// What has not all of Groundskeeper's labels, or another name, belongs to another owner.
	sameName, otherName, sameSecret, otherSecret := backendOf(k), backendOf(k), secretOf(k), secretOf(k)
	sameName.Namespace, sameSecret.Namespace = "elsewhere", "elsewhere"
	sameName.Labels = map[string]string{LabelUID: string(k.UID)}
	sameSecret.Labels = sameName.Labels
	otherName.Name, otherSecret.Name = "joke", "joke"
	stay := []client.Object{sameName, otherName, sameSecret, otherSecret, backendOf(klustertest.Kluster("other"))}
	f.create(stay...)
	f.withdraw(k, "DiscoveryBackend gimbal-discovery/k: its traffic is being moved away", "apply")
	if f.get(backend); backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || backend.Cluster.Secret != "k-discovery" || !isOwn(k, backend) {
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
		if !f.get(object) {
			t.Errorf("another client's %s/%s has been deleted", object.GetNamespace(), object.GetName())
		}
	}
	if source := credentials("k-secret", ""); !f.get(source) {
		t.Error("the Secret of the Kluster has been deleted")
	}
}

// What was changed since it was checked is rechecked.
func TestWithdrawWithConcurrentChanges(t *testing.T) {
	f, k := newAnnounced(t)
	backend, secret := f.there(k, discoveryNamespace)
	conflict := apierrors.NewConflict(gimbalv1.Resource("discoverybackends"), "k", errors.New("changed"))
	f.intercept = func(string, any) error { return conflict }
	f.withdraw(k, reasonChanged, "apply")
	f.intercept = nil
	f.withdraw(k, "moved away", "apply")
	f.drain(backend)
	// Between the check and the deletion a user changes it.
	f.intercept = func(string, any) error {
		f.intercept = nil
		f.change(backend, func() { backend.Cluster.Debug = true })
		return nil
	}
	f.withdraw(k, reasonChanged, "delete")
	if !f.get(backend) {
		t.Fatal("what was changed is deleted")
	}
	f.drain(backend)
	f.withdraw(k, "being deleted", "delete")
	f.intercept = func(string, any) error {
		f.intercept = nil
		f.change(secret, func() { secret.Data["more"] = nil })
		return nil
	}
	f.withdraw(k, "Secret gimbal-discovery/k-discovery: "+reasonChanged, "delete")
	// A Secret that is being deleted already is not waited for, regardless of its finalizers.
	f.change(secret, func() { secret.Finalizers = []string{"somebody/else"} })
	f.withdraw(k, "", "delete")
	f.withdraw(k, "")
	if !f.get(secret) || secret.DeletionTimestamp.IsZero() {
		t.Error("the finalizer of another client was ignored")
	}
}

// Nothing is concluded from a list that failed or is not whole.
func TestWithdrawNeedsCompleteLists(t *testing.T) {
	f, k := newAnnounced(t)
	for name, read := range map[string]func(any) error{
		"backends fail": func(object any) error {
			if _, ok := object.(*gimbalv1.DiscoveryBackendList); ok {
				return apierrors.NewServiceUnavailable("away")
			}
			return nil
		},
	} {
		f.read = read
		if report, err := Withdraw(t.Context(), f.r.client, f.r.live, k); err == nil || len(f.writes) > 0 {
			t.Errorf("%s: %+v, writes %v", name, report, f.writes)
		}
	}
	f.read = nil
	for _, kind := range []string{"DiscoveryBackends", "Secrets"} {
		if kind == "Secrets" {
			backend, _ := f.there(k, discoveryNamespace)
			if err := f.store.Delete(t.Context(), backend); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Withdraw(t.Context(), f.r.client, partial{f.store}, k)
		if err == nil || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), "is not whole") || len(f.writes) > 0 {
			t.Errorf("a part of the %s: %v, writes %v", kind, err, f.writes)
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

// Where DiscoveryBackends are not served a Kluster that was never announced is free to go.
func TestNotServed(t *testing.T) {
	unserved := func(object any) error {
		switch object.(type) {
		case *gimbalv1.DiscoveryBackend, *gimbalv1.DiscoveryBackendList:
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: gimbalv1.GroupName, Kind: "DiscoveryBackend"}}
		}
		return nil
	}
	f, k := newAnnounced(t)
	f.read = unserved
	f.withdraw(k, "DiscoveryBackend /k: it is unknown")
	f.withdraw(klustertest.Kluster("never"), "")
	f.change(k, func() { k.Spec.Discovery.Enabled = false })
	f.want(k, "False/NotServed")
	f.quiet(k)

	fresh := klustertest.Kluster("fresh", toBeAnnounced)
	f.create(fresh, credentials("fresh-secret", "https://a.example"))
	f.want(fresh, "False/NotServed")
	f.quiet(fresh)
	if backend, secret := f.there(fresh, discoveryNamespace); backend != nil || secret != nil {
		t.Errorf("made %v, %v", backend, secret)
	}
	f.read = nil
	f.want(fresh, "True/Announced")
}

// A Kluster that is no longer to be announced is withdrawn as gently as one that is being deleted.
func TestDisable(t *testing.T) {
	f, k := newAnnounced(t)
	backend, _ := f.there(k, discoveryNamespace)
	f.change(k, func() { k.Spec.Discovery.Enabled = false })
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

// A change of mind gives the traffic back, unless the user wanted the maintenance as well.
func TestReEnable(t *testing.T) {
	for _, maintained := range []bool{false, true} {
		f, k := newAnnounced(t)
		backend, _ := f.there(k, discoveryNamespace)
		if maintained {
			f.change(backend, func() { backend.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance })
		}
		f.change(k, func() { k.Spec.Discovery.Enabled = false })
		f.want(k, "False/Withdrawing")
		if f.get(backend); backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance {
			t.Fatalf("backend %+v", backend.Cluster)
		}
		f.change(k, func() { k.Spec.Discovery.Enabled = true })
		f.want(k, "True/Announced")
		if f.get(backend); (backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance) != maintained || backend.Cluster.Secret != "k-discovery" {
			t.Errorf("backend %+v, maintained by the user: %t", backend.Cluster, maintained)
		}
		f.quiet(k)
	}
}

// In another namespace it is announced when nothing is left in the one before: names are unique in all namespaces.
func TestMove(t *testing.T) {
	f, k := newAnnounced(t)
	backend, _ := f.there(k, discoveryNamespace)
	f.change(k, func() { k.Spec.Discovery.Namespace = "elsewhere" })
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
