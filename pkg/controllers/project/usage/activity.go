// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// lastChange returns when an object was changed last, which its managed fields have: Secrets have no generation.
func lastChange(object metav1.Object) any { return lastChangeOf(object) }

func lastChangeOf(object metav1.Object) (last time.Time) {
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// Changed returns when a cached object was created or changed last, as far as its kind has that.
func Changed(object *resourcewatch.Object) time.Time {
	last, _ := object.Value.(time.Time)
	if binding, ok := object.Value.(bound); ok {
		last = binding.changed
	}
	if created := object.CreationTimestamp.Time; last.Before(created) {
		return created
	}
	return last
}

// IsDirect reports whether all objects of a resource use the project of their namespace.
func (u *Usage) IsDirect(resource schema.GroupResource) bool {
	return slices.Contains(u.direct, resource)
}

// Related returns the namespaces that an event concerns by references: that of credentials or a Quota which a binding refers to, those of
// a binding and of what it refers to, and those whose credentials or Quotas a Shoot begins or ceases to use. The reader may be incomplete:
// it has the object of each event that was handled, so that the later one of two events finds the other object.
func (u *Usage) Related(ctx context.Context, reader resourcewatch.Reader, event resourcewatch.Event) ([]string, error) {
	var namespaces []string
	object := event.Object()
	switch {
	case slices.Contains(bindings(), event.Resource):
		namespaces = append(namespaces, object.Namespace)
		for _, binding := range states(event) {
			namespaces = append(namespaces, targets(binding)...)
		}
	case event.Resource == Shoots:
		changed, err := usedDifferently(ctx, reader, event)
		if err != nil {
			return nil, err
		}
		for _, binding := range changed {
			namespaces = append(namespaces, targets(binding)...)
		}
	case slices.Contains(referred(), event.Resource):
		isReferred, err := isReferred(ctx, reader, reference{resource: event.Resource, namespace: object.Namespace, name: object.Name})
		if err != nil || !isReferred {
			return nil, err
		}
		namespaces = append(namespaces, object.Namespace)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), nil
}

// states returns the states of the object of an event.
func states(event resourcewatch.Event) []*resourcewatch.Object {
	return slices.DeleteFunc([]*resourcewatch.Object{event.Old, event.New}, func(object *resourcewatch.Object) bool { return object == nil })
}

// usedDifferently returns the bindings that a Shoot uses before or after an event, and not both.
func usedDifferently(ctx context.Context, reader resourcewatch.Reader, event resourcewatch.Event) ([]*resourcewatch.Object, error) {
	var all []*resourcewatch.Object
	before, after := usedBy(event.Old), usedBy(event.New)
	for _, resource := range bindings() {
		if before[resource] == after[resource] {
			continue
		}
		for _, name := range []string{before[resource], after[resource]} {
			if name == "" {
				continue
			}
			found, err := reader.Find(ctx, resource, resourcewatch.Query{Namespace: event.Object().Namespace, Name: name})
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// isReferred reports whether a binding, used or not, refers to an object.
func isReferred(ctx context.Context, reader resourcewatch.Reader, to reference) (bool, error) {
	for _, resource := range bindings() {
		found, err := reader.Find(ctx, resource, resourcewatch.Query{Index: byTarget, Value: to.namespace})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(found, func(binding *resourcewatch.Object) bool { return slices.Contains(referencesOf(binding), to) }) {
			return true, nil
		}
	}
	return false, nil
}

// Around returns the objects whose events concern namespaces because of a binding that was not known when these were handled: the
// credentials and Quotas that it refers to, and the Shoots that use it, each with these namespaces. Of another object it returns none.
func (u *Usage) Around(
	ctx context.Context, reader resourcewatch.Reader, resource schema.GroupResource, binding *resourcewatch.Object,
) (map[*resourcewatch.Object][]string, error) {
	if !slices.Contains(bindings(), resource) {
		return nil, nil
	}
	around := map[*resourcewatch.Object][]string{}
	for _, reference := range referencesOf(binding) {
		if reference.unknown != "" {
			continue
		}
		found, err := reader.Find(ctx, reference.resource, resourcewatch.Query{Namespace: reference.namespace, Name: reference.name})
		if err != nil {
			return nil, err
		}
		for _, object := range found {
			around[object] = []string{reference.namespace}
		}
	}
	users, err := reader.Find(ctx, Shoots, resourcewatch.Query{Namespace: binding.Namespace,
		Index: byBinding, Value: bindingKey(resource, binding.Namespace, binding.Name)})
	if err != nil {
		return nil, err
	}
	for _, shoot := range users {
		around[shoot] = targets(binding)
	}
	return around, nil
}
