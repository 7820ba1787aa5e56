// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"bytes"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestAnotherCloudIsNotAnnounced checks that a Secret that points to another cloud than at registration is not copied until a user
// accepts it.
func TestAnotherCloudIsNotAnnounced(t *testing.T) {
	k := klustertest.Kluster("k", toBeAnnounced, func(k *kubernikusv1.Kluster) {
		k.Status.Openstack = &kubernikusv1.OpenstackStatus{AuthHost: "other.example", ProjectID: "p"}
	})
	f := newFlow(t, k, credentials("k-secret", "https://a.example"))
	f.want(k, "False/"+kubernikusv1.ReasonCloudChanged)
	if f.store.Find(backendOf(k)) || f.store.Find(secretOf(k)) {
		t.Error("what leads elsewhere was announced")
	}
	if err := f.store.Get(t.Context(), client.ObjectKeyFromObject(k), k); err != nil {
		t.Fatal(err)
	}
	k.Annotations = map[string]string{kubernikusv1.AcceptCloudAnnotation: "keystone.example//p"}
	if err := f.store.Update(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	f.want(k, "True/Announced")
}

// TestTwoClusters checks that two clusters in one namespace have separate announcements: the credentials of each follow its own
// Secret, and withdrawing one does not affect the other.
func TestTwoClusters(t *testing.T) {
	east, west := klustertest.Kluster("east", toBeAnnounced), klustertest.Kluster("west", toBeAnnounced)
	source := credentials("east-secret", "https://east.example")
	f := newFlow(t, east, west, source, credentials("west-secret", "https://west.example"))
	f.want(east, "True/Announced")
	f.want(west, "True/Announced")
	before, credentialsBefore := f.there(west, discoveryNamespace)
	if before == nil || credentialsBefore == nil || !clusterid.IsMadeFor(west, before) || !bytes.Equal(credentialsBefore.Data[keyConfig], kubeconfigFor("https://west.example")) {
		t.Fatalf("west is announced as %+v with %+v", before, credentialsBefore)
	}
	f.store.Change(source, func() { source.Data["kubeconfig"] = kubeconfigFor("https://east-2.example") })
	f.want(east, "True/Announced")
	if _, secret := f.there(east, discoveryNamespace); !bytes.Equal(secret.Data[keyConfig], kubeconfigFor("https://east-2.example")) {
		t.Errorf("east has credentials %s, want the new ones", secret.Data[keyConfig])
	}
	f.quiet(west)

	backend, _ := f.there(east, discoveryNamespace)
	f.store.Change(east, func() { east.Spec.Discovery.Enabled = false })
	f.want(east, "False/Withdrawing")
	f.drain(backend)
	f.want(east, "False/Withdrawing")
	f.want(east, "")
	if backend, secret := f.there(east, discoveryNamespace); backend != nil || secret != nil {
		t.Errorf("of east, %v and %v are left", backend, secret)
	}
	after, credentialsAfter := f.there(west, discoveryNamespace)
	if after == nil || after.ResourceVersion != before.ResourceVersion || credentialsAfter == nil || credentialsAfter.ResourceVersion != credentialsBefore.ResourceVersion {
		t.Errorf("the announcement of west changed to %+v with %+v", after, credentialsAfter)
	}
	f.quiet(west)
	f.want(west, "True/Announced")
}
