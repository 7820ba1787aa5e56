// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/validation"

	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// errSilent means that a project was not requested, because there was no response for another.
var errSilent = errors.New("not requested, because the cloud does not respond")

// outcome is what became of the listing of one project.
type outcome struct {
	tenancy
	inventory
	octavia LoadBalancing
	err     error
}

// list reads what Octavia has of each project, threads requests at a time. It calls contact when a request is rejected because there are
// too many: each such request is tried again after pauses, so that it may take long until all projects are read.
//
// Members are read for each pool that a listener sends traffic to, at every sync. Octavia offers nothing cheaper that is right: no
// request has the members of several pools; the status tree of a load balancer has no weights and is as many requests; and neither
// the time of the last change nor the status of a pool reports that the health of a member changed while that of another did as
// well.
func list(ctx context.Context, cloud Cloud, tenancies []tenancy, threads int, contact func(report.Response)) []*outcome {
	outcomes := make([]*outcome, len(tenancies))
	for i := range tenancies {
		outcomes[i] = &outcome{tenancy: tenancies[i]}
	}
	var silent atomic.Pointer[error]
	parallel(ctx, threads, outcomes, func(o *outcome) {
		if err := silent.Load(); err != nil {
			o.err = fmt.Errorf("%w: %w", errSilent, *err)
			return
		}
		o.err = o.list(ctx, cloud)
		switch {
		case isSilent(o.err):
			silent.Store(&o.err)
		case responseOf(o.err) == report.Limited:
			contact(report.Limited)
		}
	})
	type errand struct {
		*outcome
		pool string
	}
	var errands []errand
	for _, o := range outcomes {
		for _, pool := range o.used() {
			errands = append(errands, errand{o, pool})
		}
	}
	var mu sync.Mutex
	parallel(ctx, threads, errands, func(e errand) {
		mu.Lock()
		failed := e.err != nil
		mu.Unlock()
		if failed {
			return
		}
		members, err := e.octavia.Members(ctx, e.pool)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			e.members[e.pool] = members
		case !openstack.IsNotFound(err): // else its load balancer is changing
			e.err = err
		}
	})
	for _, o := range outcomes {
		if o.err == nil {
			o.err = ctx.Err()
		}
	}
	return outcomes
}

// list reads all of one project but members. Load balancers come first: their status reports that what comes after them may be in
// change.
func (o *outcome) list(ctx context.Context, cloud Cloud) error {
	if !o.Enabled {
		return errDisabled
	}
	var err error
	if o.octavia, err = cloud.LoadBalancing(ctx, o.ID); err != nil {
		return err
	}
	balancers, err := o.octavia.LoadBalancers(ctx)
	if err != nil || len(balancers) == 0 {
		return err
	}
	listeners, err := o.octavia.Listeners(ctx)
	if err != nil {
		return err
	}
	pools, err := o.octavia.Pools(ctx)
	if err != nil {
		return err
	}
	for _, balancer := range balancers {
		if len(validation.IsDNS1123Label(strings.ToLower(balancer.ID))) > 0 {
			return &openstack.Error{Op: "list load balancers", Reason: openstack.ReasonIncomplete, Err: fmt.Errorf("%q is not an id", balancer.ID)}
		}
		// An administrator of Octavia sees the load balancers of others as well, and deleted ones for a while.
		if balancer.ProjectID == o.ID && balancer.ProvisioningStatus != "DELETED" {
			o.balancers = append(o.balancers, balancer)
		}
	}
	o.listeners, o.pools, o.members = map[string][]openstack.Listener{}, map[string]openstack.Pool{}, map[string][]openstack.Member{}
	for _, listener := range listeners {
		for _, balancer := range listener.LoadBalancerIDs {
			o.listeners[balancer] = append(o.listeners[balancer], listener)
		}
	}
	for _, pool := range pools {
		o.pools[pool.ID] = pool
	}
	return nil
}

// used returns the pools whose members are needed, each once.
func (o *outcome) used() []string {
	var used []string
	for _, balancer := range o.balancers {
		for _, listener := range o.listeners[balancer.ID] {
			if _, ok := o.pools[listener.DefaultPoolID]; ok {
				used = append(used, listener.DefaultPoolID)
			}
		}
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// parallel does something with each item, some at a time, until ctx is done.
func parallel[T any](ctx context.Context, threads int, items []T, do func(T)) {
	var group errgroup.Group
	group.SetLimit(threads)
	for _, item := range items {
		group.Go(func() error {
			if ctx.Err() == nil {
				do(item)
			}
			return nil
		})
	}
	_ = group.Wait()
}
