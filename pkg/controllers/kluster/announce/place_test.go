// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// A Secret that leads to another cloud than at registration is not copied, until that is accepted.
func TestAnotherCloudIsNotAnnounced(t *testing.T) {
	k := klustertest.Kluster("k", toBeAnnounced, func(k *kubernikusv1.Kluster) {
		k.Status.Openstack = &kubernikusv1.OpenstackStatus{AuthHost: "other.example", ProjectID: "p"}
	})
	f := newFlow(t, k, credentials("k-secret", "https://a.example"))
	f.want(k, "False/"+kubernikusv1.ReasonCloudChanged)
	if f.get(backendOf(k)) || f.get(secretOf(k)) {
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
