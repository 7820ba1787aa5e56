// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"fmt"
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
	openReason = "RBAC lets every authenticated user change every Project, and this server does not restrict that to their members: " +
		"it is allowed with the permission on projects/any only"
)

// Guard is the authorizer of a server that does not restrict Projects to their members. Should RBAC let all users through to
// Projects nevertheless, because the permissions of the mode membership were applied to the cluster, it allows a request for Projects
// to those alone who are allowed to make it of any Project.
type Guard struct {
	authorizer.Authorizer
	clock    clock.PassiveClock
	checking sync.Mutex
	last     atomic.Pointer[guarded]
}

// guarded is a response of RBAC.
type guarded struct {
	open bool
	at   time.Time
}

var _ authorizer.Authorizer = &Guard{}

// NewGuard returns an authorizer that allows nothing that rbac does not allow. It returns an error if RBAC lets all users through now:
// such a server does not start.
func NewGuard(ctx context.Context, rbac authorizer.Authorizer, clock clock.PassiveClock) (*Guard, error) {
	open, err := isOpen(ctx, rbac)
	switch {
	case err != nil:
		return nil, err
	case open:
		return nil, errors.New("RBAC lets every authenticated user change every Project, and --project-authorization=roles restricts nothing: " +
			"delete the ClusterRoleBinding groundskeeper-project-membership, or set --project-authorization=membership")
	}
	g := &Guard{Authorizer: rbac, clock: clock}
	g.last.Store(&guarded{at: clock.Now()})
	return g, nil
}

// Authorize implements authorizer.Authorizer.
func (g *Guard) Authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := g.Authorizer.Authorize(ctx, request)
	if decision != authorizer.DecisionAllow || !IsRestricted(request) {
		return decision, reason, err
	}
	open, err := g.isOpen(ctx)
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	if !open {
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

// isOpen reports whether RBAC lets all users through, as of not long ago. One request queries RBAC. Meanwhile the others use the last response,
// or wait when it is too old.
func (g *Guard) isOpen(ctx context.Context) (bool, error) {
	last := g.last.Load()
	switch age := g.clock.Since(last.at); {
	case age < guardPeriod:
		return last.open, nil
	case age >= guardPatience:
		g.checking.Lock()
	case !g.checking.TryLock():
		return last.open, nil
	}
	defer g.checking.Unlock()
	if last = g.last.Load(); g.clock.Since(last.at) < guardPeriod {
		return last.open, nil
	}
	open, err := isOpen(ctx, g.Authorizer)
	switch {
	case err == nil:
		g.report(last.open, open)
		g.last.Store(&guarded{open, g.clock.Now()})
		return open, nil
	case g.clock.Since(last.at) < guardPatience:
		return last.open, nil
	default:
		return false, err
	}
}

// report logs a change.
func (g *Guard) report(before, now bool) {
	switch {
	case now && !before:
		klog.ErrorS(nil, "RBAC lets every authenticated user change every Project: members have no access to their Projects until the "+
			"ClusterRoleBinding is deleted, or every replica runs with --project-authorization=membership",
			"clusterRoleBinding", bindingName)
	case before && !now:
		klog.InfoS("RBAC no longer lets every authenticated user change every Project")
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
