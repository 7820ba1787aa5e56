// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"bytes"
	"testing"

	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// Of two clusters in one namespace, each has a dedicated announcement: the credentials of one follow its own Secret, and the other
// one is announced still when the first is withdrawn.
func TestTwoClusters(t *testing.T) {
	east, west := klustertest.Kluster("east", toBeAnnounced), klustertest.Kluster("west", toBeAnnounced)
	source := credentials("east-secret", "https://east.example")
	f := newFlow(t, east, west, source, credentials("west-secret", "https://west.example"))
	f.want(east, "True/Announced")
	f.want(west, "True/Announced")
	before, credentialsBefore := f.there(west, discoveryNamespace)
	if before == nil || credentialsBefore == nil || !isOwn(west, before) || !bytes.Equal(credentialsBefore.Data[keyConfig], kubeconfigFor("https://west.example")) {
		t.Fatalf("west is announced as %+v with %+v", before, credentialsBefore)
	}
	f.change(source, func() { source.Data["kubeconfig"] = kubeconfigFor("https://east-2.example") })
	f.want(east, "True/Announced")
	if _, secret := f.there(east, discoveryNamespace); !bytes.Equal(secret.Data[keyConfig], kubeconfigFor("https://east-2.example")) {
		t.Errorf("east has credentials %s, want the new ones", secret.Data[keyConfig])
	}
	f.quiet(west)

	backend, _ := f.there(east, discoveryNamespace)
	f.change(east, func() { east.Spec.Discovery.Enabled = false })
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
