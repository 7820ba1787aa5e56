// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestGuardRejectsTheStart(t *testing.T) {
	for name, test := range map[string]struct {
		rbac rbac
		want string
	}{
		"closed":   {rbac{}, ""},
		"readable": {rbac{allowed: []string{"get projects", "list projects"}}, ""},
		"open":     {rbac{allowed: everyone()}, "delete the ClusterRoleBinding groundskeeper-project-membership"},
		"unknown":  {rbac{err: errUnknown}, "unknown"},
	} {
		_, err := NewGuard(t.Context(), test.rbac, clocktesting.NewFakePassiveClock(time.Now()))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// When the permissions of the mode membership are applied while a server without it runs, it allows Projects to administrators alone,
// and again to others when the permissions are deleted.
func TestGuardFollowsRBAC(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	guard, err := NewGuard(t.Context(), rbac{}, clock)
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
			guard, err := NewGuard(t.Context(), rbac{}, clock)
			if err != nil {
				t.Fatal(err)
			}
			guard.Authorizer = before
			clock.SetTime(clock.Now().Add(guardPeriod))
			if _, err := guard.isOpen(t.Context()); err != nil {
				t.Fatal(err)
			}
			guard.Authorizer = rbac{allowed: []string{"get projects"}, err: errUnknown}
			clock.SetTime(clock.Now().Add(guardPatience - time.Second))
			if got, err := guard.isOpen(t.Context()); err != nil || got != (name == "open") {
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
