// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"groundskeeper.io/groundskeeper/test/audit"
)

// Use collects what audit logs show about the use of permissions. It may be used by several goroutines.
type Use struct {
	roles       []Role
	permissions map[string][]Right // by the ID of their role
	foreign     []Binding

	mu sync.Mutex
	// needed are the permissions without which a request would have been rejected.
	needed map[Right]bool
	// holders are those who needed a role: its ID and the user. bound has bindings to roles of Kubernetes in the same way.
	holders, bound map[[2]string]bool
}

// NewUse returns a Use of the permissions that artifacts/ gives to processes.
func NewUse(all *Roles) (*Use, error) {
	u := &Use{permissions: map[string][]Right{}, foreign: all.Foreign, needed: map[Right]bool{}, holders: map[[2]string]bool{}, bound: map[[2]string]bool{}}
	for _, role := range all.Roles {
		if !role.IsOwn() {
			continue
		}
		permissions, err := role.Permissions()
		if err != nil {
			return nil, err
		}
		u.roles, u.permissions[role.ID()] = append(u.roles, role), permissions
	}
	return u, nil
}

// Read adds what a log reports, and fails when one of those who have permissions by artifacts/ requested something that these do
// not allow. (A kube-apiserver that has just started rejects what it has not read the roles for yet.) A role allows nothing before
// the log reports that a user wrote it; when it has no write of a role, all roles are there.
func (u *Use) Read(log string) error {
	var events []audit.Event
	written := false
	for event, err := range audit.Read(log) {
		if err != nil {
			return err
		}
		if role, _ := reason(event); role != "" || event.Forbidden() && u.knows(event.User.Username) || writesRole(event) {
			events = append(events, event)
		}
		written = written || writesRole(event)
	}
	present := map[string]bool{}
	var denied []string
	for _, event := range events {
		there := func(r Role) bool { return !written || present[r.Name] }
		allowed, err := u.add(event, there)
		if err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
		if !allowed {
			denied = append(denied, fmt.Sprintf("%s may not %s %s (%s)", event.User.Username, event.Verb, event.RequestURI, event.UserAgent))
		}
		if writesRole(event) {
			present[event.ObjectRef.Name] = true
		}
	}
	if len(denied) > 0 {
		slices.Sort(denied)
		return errors.New("permissions are missing in artifacts/:\n" + strings.Join(slices.Compact(denied), "\n"))
	}
	return nil
}

// writesRole reports whether a user wrote a role.
func writesRole(event audit.Event) bool {
	return (event.ObjectRef.Resource == "roles" || event.ObjectRef.Resource == "clusterroles") && event.Writes() && !event.Forbidden()
}

// knows reports whether a user has permissions by artifacts/.
func (u *Use) knows(user string) bool {
	return slices.ContainsFunc(u.roles, func(r Role) bool { return r.isFor(user) })
}

// add adds an event. It returns whether the roles that are there allow what was requested.
func (u *Use) add(event audit.Event, there func(Role) bool) (bool, error) {
	id, binding := reason(event)
	user := event.User.Username
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bound[[2]string{binding, user}] = true
	if _, own := u.permissions[id]; !own && !event.Forbidden() {
		return true, nil
	}
	requests, err := requested(event)
	if err != nil {
		return false, err
	}
	if event.Forbidden() {
		return !u.knows(user) || byKubernetes(requests[0]) || len(u.allowing(requests[0], user, there, "")) > 0, nil
	}
	for i, q := range requests {
		allowing := u.allowing(q, user, there, id)
		if i == 0 && !slices.ContainsFunc(allowing, func(r Right) bool { return r.Role == id }) {
			return false, fmt.Errorf("%s in artifacts/ does not allow %s to %s %s, and yet it did", id, user, event.Verb, event.RequestURI)
		}
		if len(allowing) == 1 {
			u.needed[allowing[0]] = true
			u.holders[[2]string{allowing[0].Role, user}] = true
		}
	}
	return true, nil
}

// allowing returns the permissions of a user that allow a request: those of the roles that are there, and of one that certainly is,
// in the namespace of the request, too: tests copy roles to dedicated namespaces.
func (u *Use) allowing(q Request, user string, there func(Role) bool, certain string) []Right {
	var allowing []Right
	for _, role := range u.roles {
		if role.ID() != certain && (!role.isFor(user) || !there(role)) {
			continue
		}
		for _, right := range u.permissions[role.ID()] {
			anywhere := right
			if role.ID() == certain {
				anywhere.Namespace = ""
			}
			if anywhere.Allows(q) {
				allowing = append(allowing, right)
			}
		}
	}
	return allowing
}

// Unneeded returns the permissions that no request needed, except for those that are proved otherwise, and whom a binding gives
// what they did not need.
func (u *Use) Unneeded(proved func(Right) bool) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var found []string
	for _, role := range u.roles {
		for _, right := range u.permissions[role.ID()] {
			if !u.needed[right] && !proved(right) {
				found = append(found, fmt.Sprintf("%s: %s, rule %d: %s", role.File, right.Role, right.Rule, right))
			}
		}
		for _, b := range role.Bindings {
			for _, user := range b.Users() {
				if !u.holders[[2]string{role.ID(), user}] {
					found = append(found, fmt.Sprintf("%s: %s %s: %s", b.File, b.Kind, b.Name, user))
				}
			}
		}
	}
	for _, b := range u.foreign {
		for _, user := range b.Users() {
			if !u.bound[[2]string{b.reason(), user}] {
				found = append(found, fmt.Sprintf("%s: %s %s: %s", b.File, b.Kind, b.Name, user))
			}
		}
	}
	return found
}
