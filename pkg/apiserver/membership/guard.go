// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	names "groundskeeper.io/groundskeeper/pkg/apiserver/authorizer"
)

const (
	// guardPeriod is how often RBAC is queried. Its responses are cached for as long again.
	guardPeriod = 5 * time.Second
	// guardPatience is how long the last response counts while RBAC does not respond.
	guardPatience = time.Minute
	// openReason is why a request is not allowed while RBAC is open.
	openReason = "RBAC lets the user change every Project, and this server does not restrict that to their members: " +
		"it is allowed with the permission on projects/any only"
)

// Guard is the authorizer of a server that does not restrict Projects to their members. Should RBAC let users through to Projects
// nevertheless, because the permissions of the mode membership were applied to the cluster, under any name and for any subjects, it
// allows a request of these users for Projects to those alone who are allowed to make it of any Project.
type Guard struct {
	authorizer.Authorizer
	bindings Bindings
	clock    clock.PassiveClock
	checking sync.Mutex
	last     atomic.Pointer[guarded]
}

// guarded is a response of RBAC: whom it allows to change every Project.
type guarded struct {
	// everyone is set if these are all authenticated users.
	everyone bool
	// bindings have more of them.
	bindings []Binding
	at       time.Time
}

// isOpenTo reports whether RBAC allows a user to change every Project.
func (g guarded) isOpenTo(who user.Info) bool {
	return g.everyone || slices.ContainsFunc(g.bindings, func(binding Binding) bool { return binding.binds(who) })
}

// isOpen reports whether RBAC allows any user to change every Project.
func (g guarded) isOpen() bool { return g.everyone || len(g.bindings) > 0 }

// who returns in words whom RBAC allows to change every Project.
func (g guarded) who() string {
	switch {
	case len(g.bindings) > 0:
	case g.everyone:
		return "every authenticated user"
	default:
		return "no user"
	}
	names := make([]string, 0, len(g.bindings))
	for _, binding := range g.bindings {
		names = append(names, binding.String())
	}
	return "the subjects of " + strings.Join(names, " and ")
}

var _ authorizer.Authorizer = &Guard{}

// NewGuard returns an authorizer that allows nothing that rbac does not allow. It returns an error if RBAC lets users through now:
// such a server does not start.
func NewGuard(ctx context.Context, rbac authorizer.Authorizer, bindings Bindings, clock clock.PassiveClock) (*Guard, error) {
	g := &Guard{Authorizer: rbac, bindings: bindings, clock: clock}
	now, err := g.check(ctx)
	switch {
	case err != nil:
		return nil, err
	case now.isOpen():
		return nil, fmt.Errorf("RBAC lets %s change every Project, and --project-authorization=roles restricts nothing: delete the "+
			"ClusterRoleBinding (that of artifacts/membership is %s), set --project-authorization=membership, or, if these are administrators, "+
			"add the resource projects/any to the rule of their ClusterRole", now.who(), bindingName)
	}
	g.last.Store(now)
	return g, nil
}

// Authorize implements authorizer.Authorizer.
func (g *Guard) Authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := g.Authorizer.Authorize(ctx, request)
	if decision != authorizer.DecisionAllow || !IsRestricted(request) {
		return decision, reason, err
	}
	now, err := g.now(ctx)
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	if !now.isOpenTo(request.GetUser()) {
		return decision, reason, nil
	}
	if decision, reason, err = g.Authorizer.Authorize(ctx, anyProject{request}); decision != authorizer.DecisionAllow {
		reason = openReason
	}
	return decision, reason, err
}

// ConditionsAwareAuthorize implements authorizer.Authorizer. What it restricts has no conditions.
func (g *Guard) ConditionsAwareAuthorize(ctx context.Context, request authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if !IsRestricted(request) {
		return g.Authorizer.ConditionsAwareAuthorize(ctx, request)
	}
	return authorizer.ConditionsAwareDecisionFromParts(g.Authorize(ctx, request))
}

// now returns a response of RBAC that is not old. One request queries RBAC. Meanwhile the others use the last response, or wait when
// it is too old.
func (g *Guard) now(ctx context.Context) (*guarded, error) {
	last := g.last.Load()
	switch age := g.clock.Since(last.at); {
	case age < guardPeriod:
		return last, nil
	case age >= guardPatience:
		g.checking.Lock()
	case !g.checking.TryLock():
		return last, nil
	}
	defer g.checking.Unlock()
	if last = g.last.Load(); g.clock.Since(last.at) < guardPeriod {
		return last, nil
	}
	now, err := g.check(ctx)
	switch {
	case err == nil:
		report(last, now)
		g.last.Store(now)
		return now, nil
	case g.clock.Since(last.at) < guardPatience:
		return last, nil
	default:
		return nil, err
	}
}

// check queries RBAC.
func (g *Guard) check(ctx context.Context) (*guarded, error) {
	everyone, err := isOpen(ctx, g.Authorizer)
	if err != nil {
		return nil, err
	}
	bindings, err := g.bindings(ctx)
	if err != nil && !everyone {
		return nil, fmt.Errorf("cannot determine who may change every Project: %w", err)
	}
	return &guarded{everyone, bindings, g.clock.Now()}, nil
}

// report logs a change.
func report(before, now *guarded) {
	switch {
	case now.isOpen() && now.who() != before.who():
		klog.ErrorS(nil, "RBAC lets users change every Project: they have no access to Projects, not even to their own, until the "+
			"ClusterRoleBinding is deleted, or every replica runs with --project-authorization=membership", "users", now.who())
	case before.isOpen() && !now.isOpen():
		klog.InfoS("RBAC no longer lets users change every Project")
	}
}

// bindingName is the ClusterRoleBinding of artifacts/membership.
const bindingName = "groundskeeper-project-membership"

// isOpen reports whether RBAC lets every authenticated user manage the members of every Project, as it does where membership
// restricts that.
func isOpen(ctx context.Context, rbac authorizer.Authorizer) (bool, error) {
	decision, _, err := rbac.Authorize(ctx, authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "groundskeeper.io:any-user", Groups: []string{user.AllAuthenticated}},
		Verb: gardenerv1beta1.VerbManageMembers, APIGroup: gardenerv1beta1.GroupName, APIVersion: gardenerv1beta1.SchemeGroupVersion.Version,
		Resource: resource, Name: names.AnyName, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot determine whether every authenticated user may change every Project: %w", err)
	}
	return false, nil
}
