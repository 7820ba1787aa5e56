// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"testing"
	"time"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestAnotherCloudIsNotOpened checks that Deorbit does not access another project, region or cloud than that of the registration,
// until a user accepts it.
func TestAnotherCloudIsNotOpened(t *testing.T) {
	s := fake.New(fake.Options{})
	t.Cleanup(s.Close)
	s.AddUser("gardener", "password", "garden")
	clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := realSystems(nil, nil, clients, configv1alpha1.RouteGCConfiguration{}, nil)
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

// TestSelfDestructOfOneOfTwo checks that, of two clusters that are torn down concurrently, the annotation self-destruct ends only
// one.
func TestSelfDestructOfOneOfTwo(t *testing.T) {
	east, west := deleted("east"), deleted("west")
	f := newFlow(t, east, west, secretOf("east-secret"), secretOf("west-secret"))
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	for _, k := range []*kubernikusv1.Kluster{east, west} {
		f.turn(k)
		f.is(k, claims, "False/Claims")
	}
	f.store.Change(east, func() { klustertest.Annotated(kubernikusv1.SelfDestructAnnotation)(east) })
	f.turn(east)
	f.is(east, claims, "False/Claims") // only the value now counts
	f.store.Change(east, func() { east.Annotations[kubernikusv1.SelfDestructAnnotation] = kubernikusv1.SelfDestructNow })
	f.turn(east)
	if f.store.Find(east) {
		t.Errorf("east is not released: %+v", east.Status.Deorbit)
	}
	f.after(time.Minute, west)
	f.is(west, claims, "False/Claims")
	if !west.HasDeorbiter() || len(west.Status.Deorbit.Remaining) != 1 {
		t.Errorf("west has finalizers %v, and %+v remains", west.Finalizers, west.Status.Deorbit.Remaining)
	}
	f.remains(claims)
	f.after(time.Minute, west)
	if f.store.Find(west) {
		t.Errorf("west is not released: %+v", west.Status.Deorbit)
	}
}
