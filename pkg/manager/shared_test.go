// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// TestCloudsAreFenced checks that the shared clients do not change a cloud while the fence is closed, and can read it.
func TestCloudsAreFenced(t *testing.T) {
	cloud := fake.New(fake.Options{})
	t.Cleanup(cloud.Close)
	cloud.AddUser("gardener", "first", "garden")
	volume := cloud.AddVolume("garden", fake.Volume{Name: "data"})
	standby := newShared(&Fence{lease: "garden/lease", deadline: time.Minute})
	clients, err := standby.cloudClients(&v1alpha1.ControllersConfiguration{
		Kluster: v1alpha1.KlusterConfiguration{OpenStack: v1alpha1.OpenStackConfiguration{
			QPS: ptr.To[float32](1000), Burst: ptr.To[int32](1000), Timeout: &metav1.Duration{Duration: time.Minute},
		}},
		Credentials: v1alpha1.CredentialsConfiguration{AllowPlainHTTP: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := clients.Get(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "cloud", UID: "1", ResourceVersion: "1"},
		Data: map[string][]byte{"clouds.yaml": []byte(`{clouds: {cloud: {auth: {auth_url: "` + cloud.AuthURL() +
			`", username: gardener, password: first, user_domain_name: Default, project_id: garden}}}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.BlockStorage().DeleteVolume(t.Context(), volume); err == nil || !strings.Contains(err.Error(), "does not hold the Lease garden/lease") {
		t.Errorf("deleting: %v", err)
	}
	if all, err := client.BlockStorage().Volumes(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("reading: %v, %v", all, err)
	}
}
