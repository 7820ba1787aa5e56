// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestCredentialsInTwoSecrets checks that the credentials of a Cluster API cluster are read from both its Secrets, that both are
// protected, and that a rotation of either is noticed.
func TestCredentialsInTwoSecrets(t *testing.T) {
	k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) {
		k.Spec.SecretRef = kubernikusv1.SecretReference{
			Kubeconfig: &kubernikusv1.KubeconfigReference{Name: "web-kubeconfig"}, Cloud: &kubernikusv1.CloudReference{Name: "web-cloud-config", CloudName: "openstack"},
		}
	})
	f := newFlow(t, k)
	wantConditions(t, f.settled(k), "False/SecretMissing", "False/SecretMissing")
	clouds := func(password string) []byte {
		return []byte("clouds: {openstack: {auth: {auth_url: '" + f.AuthURL() + "', username: gardener, password: " + password +
			", user_domain_name: Default, project_id: garden}}, other: {}}")
	}
	kubeconfig := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: klustertest.Namespace, Name: "web-kubeconfig", UID: "kc"}, Data: map[string][]byte{"value": f.kubeconfig}}
	cloud := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: klustertest.Namespace, Name: "web-cloud-config", UID: "cc"}, Data: map[string][]byte{"clouds.yaml": clouds("password"), "cacert": []byte("\n")}}
	// OpenStack can be used before the cluster has a kubeconfig, and the credentials are retained from then on.
	f.store.Add(cloud)
	wantConditions(t, f.settled(k), "False/SecretMissing", "True/Reachable")
	if f.store.Find(cloud); !isHeld(cloud) {
		t.Error("the Secret of OpenStack is not held")
	}
	f.store.Add(kubeconfig)
	wantConditions(t, f.settled(k), "True/Reachable", "True/Reachable")
	for _, s := range []*corev1.Secret{kubeconfig, cloud} {
		if f.store.Find(s); !isHeld(s) {
			t.Errorf("Secret %s is not held", s.Name)
		}
	}
	f.AddUser("gardener", "rotated", "garden")
	f.RevokeTokens()
	f.store.Change(cloud, func() { cloud.Data["clouds.yaml"] = clouds("rotated") })
	wantConditions(t, f.settled(k), "True/Reachable", "True/Reachable")
	f.store.Change(kubeconfig, func() { kubeconfig.Data["value"] = []byte("broken") })
	wantConditions(t, f.settled(k), "False/SecretInvalid", "True/Reachable")
	// A Kluster that uses other Secrets lets these go.
	f.moved(k, func() { k.Spec.SecretRef, k.Generation = kubernikusv1.SecretReference{Name: "k-secret"}, 2 })
	for _, s := range []*corev1.Secret{kubeconfig, cloud} {
		if f.store.Find(s); isHeld(s) {
			t.Errorf("Secret %s is held, and no Kluster uses it", s.Name)
		}
	}
}
