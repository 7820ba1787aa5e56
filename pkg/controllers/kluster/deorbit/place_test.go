// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"testing"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// Deorbit does not open another project, region or cloud than that of the registration, until that is accepted.
func TestAnotherCloudIsNotOpened(t *testing.T) {
	s := fake.New(fake.Options{})
	t.Cleanup(s.Close)
	s.AddUser("gardener", "password", "garden")
	clients, err := openstack.NewClients(openstack.Options{QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := &reality{clients: clients}
	secret := klustertest.Secret("k-secret", s.AuthURL(), "gardener", "password", "garden", nil)
	client, err := clients.Get(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	host, region := client.AuthHost(), client.Region()
	for name, c := range map[string]struct {
		registered kubernikusv1.OpenstackStatus
		accepted   string
		holds      bool
	}{
		"the same":        {kubernikusv1.OpenstackStatus{AuthHost: host, Region: region, ProjectID: "garden"}, "", false},
		"another project": {kubernikusv1.OpenstackStatus{AuthHost: host, Region: region, ProjectID: "other"}, "", true},
		"another region":  {kubernikusv1.OpenstackStatus{AuthHost: host, Region: "elsewhere", ProjectID: "garden"}, "", true},
		"another cloud":   {kubernikusv1.OpenstackStatus{AuthHost: "other.example", Region: region, ProjectID: "garden"}, "", true},
		"accepted":        {kubernikusv1.OpenstackStatus{AuthHost: host, Region: region, ProjectID: "other"}, host + "/" + region + "/garden", false},
		"accepted before": {kubernikusv1.OpenstackStatus{AuthHost: host, Region: region, ProjectID: "other"}, host + "/" + region + "/third", true},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) {
				k.Status.Openstack, k.Annotations = &c.registered, map[string]string{kubernikusv1.AcceptCloudAnnotation: c.accepted}
			})
			_, err := r.open(t.Context(), k, secret)
			if holds := err != nil; holds != c.holds || holds && openstack.ReasonOf(err) != kubernikusv1.ReasonCloudChanged {
				t.Errorf("got %v, holds = %t, want %t", err, holds, c.holds)
			}
		})
	}
}
