// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package usage determines what uses a project: objects of certain resources in its namespace, and credentials and Quotas there
// that an object in use in any namespace refers to. A reference to an unknown object makes the result unknown, because it may
// be the only use of the project.
//
// A Kluster and a DiscoveryBackend only refer to Secrets in their namespace. The user of such a Secret is in the same project
// and counts itself, so that these references are not resolved.
package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// Usage determines what uses a project.
type Usage struct {
	// Kinds are the watched kinds. They include those that block the deletion of a namespace.
	Kinds *resourcewatch.Set
	// direct are the resources whose objects always count.
	direct []schema.GroupResource
}

// New returns a Usage for the resources, each as plural.group, and those of Gardener.
func New(find resourcewatch.Finder, source resourcewatch.Source, clock clock.PassiveClock, period time.Duration, resources []string) *Usage {
	all, direct := followed(resources)
	return &Usage{Kinds: resourcewatch.NewSet(find, source, clock, period, all...), direct: direct}
}

// Shared is the one Usage of all controllers of a manager. Its zero value is ready.
type Shared struct {
	// Period is the time between two checks of the served kinds. 0: resourcewatch.DiscoveryPeriod.
	Period time.Duration
	// Cached are resources that are in the cache of the manager already.
	Cached []*resourcewatch.Cached

	once  sync.Once
	usage *Usage
	err   error
}

// For returns the Usage, which the first call creates and adds to the manager.
func (s *Shared) For(mgr manager.Manager, clock clock.PassiveClock, resources []string) (*Usage, error) {
	s.once.Do(func() {
		find, source, err := resourcewatch.Connect(mgr)
		if s.err = err; err != nil {
			return
		}
		source.Cached = s.Cached
		s.usage = New(find, source, clock, cmp.Or(s.Period, resourcewatch.DiscoveryPeriod), resources)
		s.err = mgr.Add(s.usage.Kinds)
	})
	return s.usage, s.err
}

// Of returns the resource of an object that uses the project of a namespace, "" if it is unused. After an error it is unknown.
func (u *Usage) Of(ctx context.Context, reader resourcewatch.Reader, namespace string) (string, error) {
	for _, resource := range u.direct {
		found, err := reader.Find(ctx, resource, resourcewatch.Query{Namespace: namespace, Any: true})
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return resource.String(), nil
		}
	}
	references, err := references(ctx, reader, namespace)
	if err != nil {
		return "", err
	}
	var unknown error
	for _, reference := range references {
		found, err := resolve(ctx, reader, reference)
		if found {
			return reference.resource.String(), nil
		}
		unknown = cmp.Or(unknown, err)
	}
	if unknown != nil {
		return "", unknown
	}
	return "", unreadable(ctx, reader)
}

// resolve reports whether the object of a reference exists. After an error it is unknown.
func resolve(ctx context.Context, reader resourcewatch.Reader, to reference) (bool, error) {
	if to.unknown != "" {
		return false, fmt.Errorf("a binding in use refers to an object of an unknown kind in namespace %q: %s", to.namespace, to.unknown)
	}
	served, err := reader.Serves(ctx, to.resource)
	if err != nil {
		return false, err
	}
	if !served {
		return false, fmt.Errorf("a binding in use refers to %q in namespace %q of %s, which is not served", to.name, to.namespace, to.resource)
	}
	found, err := reader.Find(ctx, to.resource, resourcewatch.Query{Namespace: to.namespace, Name: to.name})
	return len(found) > 0, err
}

// unreadable returns an error if Shoots use bindings of a kind that is not served: the references of these are unknown, and may
// be to any namespace.
func unreadable(ctx context.Context, reader resourcewatch.Reader) error {
	for _, resource := range bindings() {
		served, err := reader.Serves(ctx, resource)
		if err != nil {
			return err
		}
		if served {
			continue
		}
		users, err := reader.Find(ctx, Shoots, resourcewatch.Query{Index: byBindingKind, Value: resource.String(), Any: true})
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return fmt.Errorf("shoot %q in namespace %q uses one of %s, which is not served", users[0].Name, users[0].Namespace, resource)
		}
	}
	return nil
}

// references returns the references into a namespace, of bindings that a Shoot uses.
func references(ctx context.Context, reader resourcewatch.Reader, namespace string) ([]reference, error) {
	var all []reference
	for _, resource := range bindings() {
		bindings, err := reader.Find(ctx, resource, resourcewatch.Query{Index: byTarget, Value: namespace})
		if err != nil {
			return nil, err
		}
		for _, binding := range bindings {
			references := slices.DeleteFunc(slices.Clone(referencesOf(binding)), func(r reference) bool { return r.namespace != namespace })
			if len(references) == 0 {
				continue
			}
			users, err := reader.Find(ctx, Shoots, resourcewatch.Query{Namespace: binding.Namespace, Any: true,
				Index: byBinding, Value: bindingKey(resource, binding.Namespace, binding.Name)})
			if err != nil {
				return nil, err
			}
			if len(users) > 0 {
				all = append(all, references...)
			}
		}
	}
	return all, nil
}

// Resources returns all resources that determine what uses a project.
func (u *Usage) Resources() []schema.GroupResource {
	return slices.Concat(u.direct, bindings(), referred())
}

// Touched returns the namespaces whose use may have changed by an event: that of the object, and those that it refers to or
// referred to before.
func (u *Usage) Touched(ctx context.Context, reader resourcewatch.Reader, event resourcewatch.Event) ([]string, error) {
	namespaces := []string{event.Object().Namespace}
	for _, object := range states(event) {
		switch {
		case slices.Contains(bindings(), event.Resource):
			namespaces = append(namespaces, targets(object)...)
		case event.Resource == Shoots:
			for resource, name := range usedBy(object) {
				found, err := reader.Find(ctx, resource, resourcewatch.Query{Namespace: object.Namespace, Name: name})
				if err != nil {
					return namespaces, err
				}
				for _, binding := range found {
					namespaces = append(namespaces, targets(binding)...)
				}
			}
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), nil
}
