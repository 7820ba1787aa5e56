// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	clocktesting "k8s.io/utils/clock/testing"
)

// bound are the bindings that RBAC has.
type bound struct {
	bindings []Binding
	err      error
}

func (b bound) read(context.Context) ([]Binding, error) { return b.bindings, b.err }

// employees have a role like that of artifacts/membership, with another name and for other subjects.
var employees = bound{bindings: []Binding{{"staff-access", "members", []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "employees"}}}}}

func TestGuardRejectsTheStart(t *testing.T) {
	for name, test := range map[string]struct {
		rbac     rbac
		bindings bound
		want     string
	}{
		"closed":           {rbac{}, bound{}, ""},
		"readable":         {rbac{allowed: []string{"get projects", "list projects"}}, bound{}, ""},
		"open":             {rbac{allowed: everyone()}, bound{}, "(that of artifacts/membership is groundskeeper-project-membership)"},
		"unknown":          {rbac{err: errUnknown}, bound{}, "unknown"},
		"open to a group":  {rbac{}, employees, "ClusterRoleBinding staff-access (ClusterRole members, Group employees)"},
		"unknown bindings": {rbac{}, bound{err: errUnknown}, "unknown"},
	} {
		_, err := NewGuard(t.Context(), test.rbac, test.bindings.read, clocktesting.NewFakePassiveClock(time.Now()))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// When the permissions of the mode membership are applied while a server without it runs, it allows Projects to administrators alone,
// and again to others when the permissions are deleted.
func TestGuardFollowsRBAC(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	guard, err := NewGuard(t.Context(), rbac{}, bound{}.read, clock)
	if err != nil {
		t.Fatal(err)
	}
	closed := rbac{allowed: []string{"get projects", "list projects", "watch projects", "create projects", "delete projects/any", "delete projects"}}
	open := rbac{allowed: everyone("create projects", "delete projects/any")}
	expect := func(when string, want map[string]bool) {
		t.Helper()
		for verb, allowed := range want {
			request := on(as("vera"), verb, "dev")
			decision, _, err := guard.Authorize(t.Context(), request)
			if err != nil || (decision == authorizer.DecisionAllow) != allowed {
				t.Errorf("%s: %s: got %v, %v", when, verb, decision, err)
			}
			if got := guard.ConditionsAwareAuthorize(t.Context(), request).IsAllow(); got != allowed {
				t.Errorf("%s: %s with conditions: got %v", when, verb, got)
			}
		}
	}
	everything := map[string]bool{"get": true, "list": true, "watch": true, "create": true, "delete": true, "update": false}
	guard.Authorizer = closed
	expect("closed", everything)

	guard.Authorizer = open
	clock.SetTime(clock.Now().Add(guardPeriod))
	expect("open", map[string]bool{"get": false, "list": false, "watch": false, "create": true, "delete": true, "update": false, "manage-members": false})
	if _, reason, _ := guard.Authorize(t.Context(), on(as("vera"), "get", "dev")); !strings.Contains(reason, "projects/any") {
		t.Errorf("reason %q", reason)
	}

	guard.Authorizer = closed
	clock.SetTime(clock.Now().Add(guardPeriod))
	expect("closed again", everything)
}

// While RBAC does not respond, the last response counts for a while, and then there is no decision.
func TestGuardWithoutResponses(t *testing.T) {
	for name, before := range map[string]rbac{"closed": {}, "open": {allowed: everyone()}} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Now())
			guard, err := NewGuard(t.Context(), rbac{}, bound{}.read, clock)
			if err != nil {
				t.Fatal(err)
			}
			guard.Authorizer = before
			clock.SetTime(clock.Now().Add(guardPeriod))
			if _, err := guard.now(t.Context()); err != nil {
				t.Fatal(err)
			}
			guard.Authorizer = rbac{allowed: []string{"get projects"}, err: errUnknown}
			clock.SetTime(clock.Now().Add(guardPatience - time.Second))
			if got, err := guard.now(t.Context()); err != nil || got.everyone != (name == "open") {
				t.Errorf("got %v, %v", got, err)
			}
			clock.SetTime(clock.Now().Add(time.Second))
			decision, _, err := guard.Authorize(t.Context(), on(as("vera"), "get", "dev"))
			if decision == authorizer.DecisionAllow || !errors.Is(err, errUnknown) {
				t.Errorf("got %v, %v", decision, err)
			}
		})
	}
}

// The rules of the mode membership for a group: the guard restricts its users, and no others.
func TestGuardFollowsBindings(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	guard, err := NewGuard(t.Context(), rbac{allowed: []string{"get projects", "update projects", "delete projects", "delete projects/any"}}, bound{}.read, clock)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when, who, verb string, allowed bool, groups ...string) {
		t.Helper()
		decision, _, err := guard.Authorize(t.Context(), on(&user.DefaultInfo{Name: who, Groups: groups}, verb, "dev"))
		if err != nil || (decision == authorizer.DecisionAllow) != allowed {
			t.Errorf("%s: %s may %s: got %v, %v, want %v", when, who, verb, decision, err, allowed)
		}
	}
	expect("before", "emma", "update", true, "employees")
	for when, restricted := range map[string]bool{"bound": true, "unbound": false} {
		if guard.bindings = (bound{}).read; restricted {
			guard.bindings = employees.read
		}
		clock.SetTime(clock.Now().Add(guardPeriod))
		expect(when, "emma", "update", !restricted, "employees")
		expect(when, "emma", "delete", true, "employees")
		expect(when, "max", "update", true, "others")
		expect(when, "employees", "update", true)
	}
	guard.bindings = bound{err: errUnknown}.read
	clock.SetTime(clock.Now().Add(guardPatience))
	if decision, _, err := guard.Authorize(t.Context(), on(as("max"), "update", "dev")); decision == authorizer.DecisionAllow || !errors.Is(err, errUnknown) {
		t.Errorf("unknown bindings: got %v, %v", decision, err)
	}
}
