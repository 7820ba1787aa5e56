// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

const secretWord = "hunter2-hunter2"

var errClosed = errors.New("the Lease is lost")

// site is a project on a fake cloud.
type site struct {
	*fake.Server
	t       *testing.T
	project Project
	network string
	// closed is the response of the fence, from its open-th question on.
	closed error
	open   int
}

// newSite makes the project garden. What Cinder and Octavia do in the background waits for Settle.
func newSite(t *testing.T, o fake.Options) *site {
	t.Helper()
	o.Delay = -1
	s := &site{Server: fake.New(o), t: t}
	t.Cleanup(s.Close)
	s.AddUser("gardener", secretWord, "garden")
	s.network = s.AddNetwork("10.0.0.0/24")
	clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, MaxBackoff: time.Second, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	client, err := clients.Get(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "1"}, Data: map[string][]byte{
		"openstack-auth-url": []byte(s.AuthURL()), "openstack-username": []byte("gardener"), "openstack-password": []byte(secretWord),
		"openstack-domain-name": []byte("Default"), "openstack-project-id": []byte("garden"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.project = Of(client, func() error {
		if s.open--; s.closed != nil && s.open < 0 {
			return s.closed
		}
		return nil
	})
	return s
}

// grown is what a cluster made in the project.
type grown struct {
	made
	balancer, address, group, volume, snapshot string
}

// grow adds what a cluster makes for one Service and one claim.
func (s *site) grow(cluster, tag string) grown {
	m := madeBy(cluster, "shop", "web", "uid-"+cluster)
	g := grown{made: m}
	g.balancer = s.AddLoadBalancer("garden", fake.LoadBalancer{Name: m.service, Description: m.description, VIP: "10.0.0.99", Tags: []string{m.service}})
	listener := s.AddListener(g.balancer, fake.Listener{Name: "listener_0_" + m.service, Protocol: "TCP", Port: 80, Tags: []string{m.service}})
	s.AddPool(g.balancer, fake.Pool{Name: "pool_0_" + m.service, Protocol: "TCP"}, listener)
	for _, b := range s.LoadBalancers("garden") {
		if b.ID == g.balancer {
			g.address = s.AddFloatingIPFor("garden", fake.FloatingIP{Address: "1.2.3.4", Description: m.address, PortID: b.VIPPortID})
		}
	}
	g.group = s.AddSecurityGroup("garden", fake.SecurityGroup{Name: m.group, Description: m.groupDescription})
	g.volume = s.AddVolume("garden", fake.Volume{Name: "pvc-" + cluster, Metadata: map[string]string{clusterKey: tag}})
	g.snapshot = s.AddSnapshot("garden", fake.Snapshot{VolumeID: g.volume, Metadata: map[string]string{clusterKey: tag}})
	return g
}

// left returns the ids of all that is in the project.
func (s *site) left() []string {
	var ids []string
	for _, b := range s.LoadBalancers("garden") {
		ids = append(ids, b.ID)
	}
	for _, f := range s.FloatingIPs("garden") {
		ids = append(ids, f.ID)
	}
	for _, g := range s.SecurityGroups("garden") {
		ids = append(ids, g.ID)
	}
	for _, v := range s.Volumes("garden") {
		ids = append(ids, v.ID)
	}
	for _, v := range s.Snapshots("garden") {
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return ids
}

// ids returns all that belongs to a cluster.
func (g grown) ids() []string {
	ids := []string{g.balancer, g.address, g.group, g.volume, g.snapshot}
	slices.Sort(ids)
	return ids
}

// changes returns the requests since the last call that are no reads, except for those to Keystone.
func (s *site) changes() (all []fake.Request) {
	for _, r := range s.Requests() {
		if r.Method != http.MethodGet && !strings.HasPrefix(r.Path, "/identity") {
			all = append(all, r)
		}
	}
	return all
}

func (s *site) verify(w stage.Work) stage.Report {
	s.t.Helper()
	report, err := s.project.Verify(s.t.Context(), w, Conflicts{})
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// until repeats the check until nothing remains, and lets the fake make progress in between. It returns the number of checks.
func (s *site) until(w stage.Work) int {
	s.t.Helper()
	for n := range 20 {
		if len(s.verify(w).Remaining) == 0 {
			return n + 1
		}
		s.Settle()
	}
	s.t.Fatalf("it never ends: %+v", s.verify(w).Remaining)
	return 0
}

// reasonFor is why an object remains, "" when it does not.
func reasonFor(objects []kubernikusv1.DeorbitObject, id string) string {
	for _, o := range objects {
		if o.ID == id {
			return o.Reason
		}
	}
	return ""
}

func (s *site) probe(ctx context.Context) (stage.Report, error) {
	return s.project.Verify(ctx, work(unseen), Conflicts{})
}
