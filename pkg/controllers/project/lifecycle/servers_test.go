// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/serverstate"
)

// agreed is an authorization that does not change.
type agreed agreement

func (a agreed) last() agreement                   { return agreement(a) }
func (a agreed) check(_ context.Context) agreement { return agreement(a) }

// changing is an authorization that differs when it is read again.
type changing struct{ before, after agreement }

func (c changing) last() agreement                   { return c.before }
func (c changing) check(_ context.Context) agreement { return c.after }

func TestDecideAgreement(t *testing.T) {
	server := func(name, authorization string, proven bool) serverstate.Server {
		return serverstate.Server{Name: name, State: serverstate.State{ProjectAuthorization: authorization}, Proven: proven}
	}
	const byRoles, byMembers = `API server "b" decides by roles`, `API server "b" decides by membership`
	for name, test := range map[string]struct {
		byMembership bool
		servers      []serverstate.Server
		waited       bool
		proven       bool
		difference   string
	}{
		"membership, all agree":                      {true, []serverstate.Server{server("a", "membership", true), server("b", "membership", false)}, false, true, ""},
		"membership, one by roles":                   {true, []serverstate.Server{server("a", "membership", true), server("b", "roles", false)}, false, false, byRoles},
		"membership, one by something else":          {true, []serverstate.Server{server("a", "membership", true), server("b", "", true)}, false, false, `server "b"`},
		"membership, perhaps of a killed server":     {true, []serverstate.Server{server("a", "membership", false)}, false, false, ""},
		"membership, of a killed server":             {true, nil, true, false, "no API server publishes"},
		"membership, nothing published yet":          {true, nil, false, false, ""},
		"roles, all agree":                           {false, []serverstate.Server{server("a", "roles", true)}, true, false, ""},
		"roles, one by membership":                   {false, []serverstate.Server{server("a", "roles", true), server("b", "membership", false)}, false, false, byMembers},
		"roles, servers of Gardener publish nothing": {false, nil, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := decideAgreement(test.byMembership, test.servers, test.waited)
			if got.membership != test.proven || !strings.Contains(got.difference, test.difference) || (test.difference == "") != (got.difference == "") {
				t.Errorf("agreement = %+v, want proven %t, difference %q", got, test.proven, test.difference)
			}
		})
	}
}

// reads is a reader of the ConfigMap of the servers.
type reads struct {
	client.Reader
	data map[string]string
	err  error
}

func (r *reads) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if configMap, ok := object.(*corev1.ConfigMap); ok {
		configMap.Data = r.data
	}
	return r.err
}

// TestServersProve checks that only a renewal is a proof, and that a failed request neither proves nor differs, until it lasts.
func TestServersProve(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	published := &reads{}
	s := newServers(published, true, clock)
	renew := func() {
		text, err := serverstate.Encode(serverstate.State{ProjectAuthorization: "membership", Renewed: metav1.NewTime(clock.Now())})
		if err != nil {
			t.Fatal(err)
		}
		published.data = map[string]string{"a": text}
	}
	is := func(what string, proven bool, difference string) {
		t.Helper()
		got := s.check(t.Context())
		if got.membership != proven || (got.difference == "") != (difference == "") || !strings.Contains(got.difference, difference) ||
			got != s.last() {
			t.Errorf("%s: agreement = %+v, want proven %t, difference %q", what, got, proven, difference)
		}
	}
	renew()
	is("first seen", false, "")
	clock.SetTime(clock.Now().Add(serverstate.Period))
	renew()
	is("renewed", true, "")
	published.err = errors.New("no response")
	is("no response", false, "")
	clock.SetTime(clock.Now().Add(serverstate.Expiry))
	is("still no response", false, "no response")
	published.err = nil
	is("expired", false, "no API server publishes")
	renew()
	is("renewed again", true, "")
	published.data["b"] = "no object"
	is("unreadable", false, "")
}

// TestRolesOutliveADifference checks that a controller by membership deletes no roles while an API server may need them, that members who
// are removed lose them nevertheless, and that the condition reports it.
func TestRolesOutliveADifference(t *testing.T) {
	for name, servers := range map[string]authorization{
		"a server by roles": agreed{difference: "server b decides by roles"},
		"unknown":           agreed{},
		"a server by roles that started just now": changing{before: agreement{membership: true}, after: agreement{difference: "server b decides by roles"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			project := c.project("dev", withMembers(member("bob", "admin"), member("eve", "admin")))
			c.settle("dev")
			before := c.clusterScoped()
			c.reconciler.byMembership, c.reconciler.servers = true, servers
			change(c, project, func(p *gardenerv1beta1.Project) {
				p.Spec.Members, p.Generation = p.Spec.Members[:len(p.Spec.Members)-1], 2
			})
			for range 3 {
				_, _ = c.reconcile("dev")
			}
			if found := c.clusterScoped(); !slices.Equal(found, before) {
				t.Errorf("cluster-scoped objects = %q, want %q", found, before)
			}
			if _, isChanging := servers.(changing); isChanging {
				return
			}
			binding := &rbacv1.ClusterRoleBinding{}
			c.read("", roleMember+":dev", binding)
			if slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Name == "eve" }) {
				t.Errorf("subjects = %v, want none who was removed", binding.Subjects)
			}
			reported := conditions.Find(c.current("dev").Status.Conditions, gardenerv1beta1.ProjectRBACReady)
			differs := servers.last().difference != ""
			if (reported.Status == gardenerv1beta1.ConditionFalse) != differs || (reported.Reason == reasonAuthorizationDiffers) != differs {
				t.Errorf("condition = %+v, want a difference %t", reported, differs)
			}
			if wrote := c.settle("dev"); wrote != 0 {
				t.Errorf("%d writes when nothing changed: %q", wrote, c.store.Writes())
			}
			c.reconciler.servers = agreed{membership: true}
			c.settle("dev")
			if found := c.clusterScoped(); len(found) > 0 {
				t.Errorf("cluster-scoped objects = %q, want none when all servers decide by membership", found)
			}
		})
	}
}

// TestRolesBesideMembership checks that the roles are written while the API servers decide by membership, which is the way back.
func TestRolesBesideMembership(t *testing.T) {
	c := newCluster(t)
	c.reconciler.servers = agreed{difference: "server b decides by membership"}
	c.project("dev")
	c.settle("dev")
	if found := c.clusterScoped(); len(found) != 8 {
		t.Errorf("cluster-scoped objects = %q, want 8", found)
	}
	reported := conditions.Find(c.current("dev").Status.Conditions, gardenerv1beta1.ProjectRBACReady)
	if reported.Status != gardenerv1beta1.ConditionTrue || reported.Reason != reasonAuthorizationDiffers {
		t.Errorf("condition = %+v, want true with reason %s", reported, reasonAuthorizationDiffers)
	}
}
