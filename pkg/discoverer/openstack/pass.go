// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// pass lists the cloud once, reports changes to the listener and problems to the ledger. The error is that of what could be listed
// at the sync before.
func (u *Upstream) pass(ctx context.Context) error {
	u.passing.Lock()
	defer u.passing.Unlock()
	began := u.Clock.Now()
	err := u.recognize(ctx)
	var projects []openstack.Project
	if err == nil {
		projects, err = u.Cloud.Projects(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		u.fail()
		u.Contact(responseOf(err))
		u.reportCloud(ctx, err)
		return err
	}
	chosen := choose(projects, u.Watchlist, u.Admits)
	kept := sets.New[string]()
	for _, t := range chosen.tenancies {
		kept.Insert(t.ID)
	}
	u.Cloud.Retain(kept.Has)
	outcomes := list(ctx, u.Cloud, chosen.tenancies, u.Threads, u.Contact)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, o := range outcomes {
		if openstack.ReasonOf(o.err) == openstack.ReasonForbidden {
			u.Cloud.Renew(o.ID)
		}
	}
	u.Contact(responseOfAny(outcomes))
	changed, err := u.take(began, chosen, outcomes)
	u.reportProblems(ctx, chosen.problems, outcomes)
	for _, key := range changed {
		u.listener.Touch(key)
	}
	if u.listedAny(outcomes) {
		u.listener.Listed()
	}
	return err
}

// responseOfAny returns what the cloud has responded about some project; without projects it has by listing none. It is silent when it is
// about all of them.
func responseOfAny(outcomes []*outcome) report.Response {
	count := map[report.Response]int{}
	for _, o := range outcomes {
		count[responseOf(o.err)]++
	}
	switch {
	case count[report.Limited] > 0:
		return report.Limited
	case count[report.Responded] > 0, len(outcomes) == 0:
		return report.Responded
	case count[report.Silent] == len(outcomes):
		return report.Silent
	}
	return report.Unclear
}

// recognize checks that the cloud is the one that is copied.
func (u *Upstream) recognize(ctx context.Context) error {
	if u.Recognize == nil {
		return nil
	}
	observed, err := u.Cloud.Identity(ctx)
	if err != nil {
		return err
	}
	return u.Recognize(ctx, observed)
}

// fail notes that nothing could be listed.
func (u *Upstream) fail() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.partial = true
	for _, t := range u.tenants {
		t.failing = true
	}
}

// take records a list that began at a time, and returns the keys of changed resources.
func (u *Upstream) take(began time.Time, chosen choice, outcomes []*outcome) (changed []types.NamespacedName, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	tenants := make(map[string]*tenant, len(outcomes))
	for _, o := range outcomes {
		before := u.tenants[o.ID]
		if o.err == nil {
			tenants[o.ID] = before.renewed(o)
			continue
		}
		tenants[o.ID] = before.failed(o.tenancy)
		if before == nil || !before.failing {
			err = errors.Join(err, fmt.Errorf("%s: %w", titleOf(o.Project), o.err))
		}
	}
	if chosen.partial { // a requested project that no longer exists
		for id, before := range u.tenants {
			if tenants[id] == nil {
				tenants[id] = before.failed(before.tenancy)
			}
		}
	}
	sources := make(map[types.NamespacedName]*desired.Source, len(u.sources))
	for _, t := range tenants {
		if t.disputed {
			continue
		}
		for name, source := range t.sources {
			sources[types.NamespacedName{Namespace: t.namespace, Name: name}] = source
		}
	}
	for key, source := range sources {
		if before := u.sources[key]; before != source {
			changed = append(changed, key)
			u.note(key, before, source)
		}
	}
	for key := range u.sources {
		if sources[key] == nil {
			changed = append(changed, key)
		}
	}
	u.tenants, u.sources, u.partial, u.asOf = tenants, sources, chosen.partial, began
	u.listed = u.listed || u.listedAny(outcomes)
	return changed, err
}

// listedAny reports whether something was listed, or there is nothing to list.
func (u *Upstream) listedAny(outcomes []*outcome) bool {
	return slices.ContainsFunc(outcomes, func(o *outcome) bool { return o.err == nil }) || len(outcomes) == 0 && len(u.Watchlist) == 0
}

// note updates the metrics when something changed.
func (u *Upstream) note(key types.NamespacedName, before, now *desired.Source) {
	if before == nil || !reflect.DeepEqual(before.Ports, now.Ports) || !reflect.DeepEqual(before.Labels, now.Labels) {
		u.Meters.ServiceEvent(key, u.Clock.Now())
	}
	if before == nil || !reflect.DeepEqual(before.Slices, now.Slices) {
		u.Meters.EndpointsEvent(key, u.Clock.Now())
	}
}
