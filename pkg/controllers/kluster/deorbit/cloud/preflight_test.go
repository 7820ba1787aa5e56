// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// TestPreflight checks that a preflight finds everything that would keep Verify from checking a service.
func TestPreflight(t *testing.T) {
	forbidden := func(path string) *fake.Fault {
		return &fake.Fault{Method: http.MethodGet, Path: path, Status: http.StatusForbidden}
	}
	all := []kubernikusv1.CloudService{kubernikusv1.ServiceLoadBalancer, kubernikusv1.ServiceBlockStorage}
	for name, c := range map[string]struct {
		without []string
		fault   *fake.Fault
		absent  []kubernikusv1.CloudService
		want    []string
		fails   bool
	}{
		"all there":       {},
		"no balancers":    {without: []string{"load-balancer"}, want: []string{"ServiceMissing spec.openstack.absentServices"}},
		"absent services": {without: []string{"load-balancer", "block-storage", "volumev3"}, absent: all},
		"absent, there":   {absent: all, fault: forbidden("/volume"), want: []string{"Forbidden list the volumes"}},
		"listeners":       {fault: forbidden("/load-balancer/v2.0/lbaas/listeners"), want: []string{"Forbidden list the listeners"}},
		"security groups": {fault: forbidden("/network/v2.0/security-groups"), want: []string{"Forbidden list the security groups"}},
		"ports":           {fault: forbidden("/network/v2.0/ports"), want: []string{"Forbidden list the ports"}},
		"everything":      {fault: forbidden("/"), want: []string{"Forbidden load balancers", "Forbidden floating IPs", "Forbidden volumes"}},
		"no response":     {fault: &fake.Fault{Method: http.MethodGet, Path: "/volume", Status: http.StatusBadGateway}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{Without: c.without})
			s.grow("web", "web")
			if c.fault != nil {
				s.Inject(*c.fault)
			}
			obstacles, err := s.project.Preflight(t.Context(), c.absent)
			if (err != nil) != c.fails || len(obstacles) != len(c.want) {
				t.Fatalf("obstacles = %+v, %v, want %q", obstacles, err, c.want)
			}
			for i, o := range obstacles {
				reason, text, _ := strings.Cut(c.want[i], " ")
				if string(o.Reason) != reason || !strings.Contains(o.Message, text) {
					t.Errorf("obstacle = %+v, want %s", o, c.want[i])
				}
			}
			if changes := slices.DeleteFunc(s.Requests(), func(r fake.Request) bool {
				return r.Method == http.MethodGet || strings.HasPrefix(r.Path, "/identity")
			}); len(changes) > 0 {
				t.Errorf("a preflight changed something: %+v", changes)
			}
		})
	}
}
