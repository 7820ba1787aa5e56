// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deletionconfirmation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Backends is which DiscoveryBackends need a confirmation to be deleted, of those that routes refer to.
type Backends string

const (
	// BackendsInAdminNamespaces is those whose routes are in every namespace.
	BackendsInAdminNamespaces Backends = "AdminNamespaces"
	// AllBackends is those of all namespaces.
	AllBackends Backends = "All"
	// NoBackends is none.
	NoBackends Backends = "None"
)

// BackendScopes returns the values of Backends.
func BackendScopes() []Backends {
	return []Backends{BackendsInAdminNamespaces, AllBackends, NoBackends}
}

// SetDiscoveryAdminNamespaces sets the namespaces whose DiscoveryBackends reach into all others.
func (p *Plugin) SetDiscoveryAdminNamespaces(namespaces []string) {
	p.admins = slices.Clone(namespaces)
}

// SetConfirmedBackends sets which DiscoveryBackends need a confirmation. Unset: those in admin namespaces.
func (p *Plugin) SetConfirmedBackends(which Backends) { p.which = which }

func (p *Plugin) needsConfirmation(b *gimbalv1.DiscoveryBackend) bool {
	switch p.which {
	case NoBackends:
		return false
	case AllBackends:
	default:
		if !slices.Contains(p.admins, b.Namespace) {
			return false
		}
	}
	return mayBeReferenced(b)
}

// mayBeReferenced reports whether routes refer to a backend, or possibly do: until they have been counted, every backend that
// has copies counts as referenced.
func mayBeReferenced(b *gimbalv1.DiscoveryBackend) bool {
	routes := b.Status.Routes
	if routes != nil && routes.Matching > 0 {
		return true
	}
	drained := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDrained)
	counted := routes != nil && (drained == nil || drained.Status != metav1.ConditionUnknown)
	return !counted && b.Status.Services != nil && *b.Status.Services > 0
}

// backendWarning returns what the deletion of a DiscoveryBackend does to routes, "" when no route refers to it.
func backendWarning(b *gimbalv1.DiscoveryBackend) string {
	routes := b.Status.Routes
	switch {
	case routes == nil || routes.Matching == 0:
		return ""
	case routes.WithoutAlternative == nil || routes.WithoutAlternative.Count == 0:
		return fmt.Sprintf("the deletion of DiscoveryBackend %s removes its references from %s; all of them have another backend", b.Name,
			count(routes.Matching, "route"))
	}
	alone := routes.WithoutAlternative
	named := strings.Join(alone.Names, ", ")
	if more := int(alone.Count) - len(alone.Names); more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("the deletion of DiscoveryBackend %s removes its references from %s, and leaves no backend for the requests of %s: %s",
		b.Name, count(routes.Matching, "route"), count(alone.Count, "route"), named)
}

func count(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
