// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Inventory is what exists: by kind and name, the identity or the content of each object.
type Inventory map[string]string

// Living checks that nothing was deleted or replaced but what is doomed: each other object of before is the same in after.
func Living(before, after Inventory, doomed func(name string) bool) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, exists := after[name]
		switch {
		case doomed != nil && doomed(name):
		case !exists:
			errs = append(errs, fmt.Errorf("%s was deleted", name))
		case now != before[name]:
			errs = append(errs, fmt.Errorf("%s is %s, it was %s", name, now, before[name]))
		}
	}
	return errors.Join(errs...)
}

// Restored checks that what was changed for a while is byte for byte as before, and that nothing else has appeared.
func Restored(before, after Inventory) error {
	err := Living(before, after, nil)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, existed := before[name]; !existed {
			err = errors.Join(err, fmt.Errorf("%s is new", name))
		}
	}
	return err
}

// Balanced checks that the report of a check is complete: each object that existed before it is reported exactly once, as deleted,
// remaining or retained, what is retained exists, and nothing has appeared.
func Balanced(before, after, deleted, remaining, retained []string) error {
	var errs []error
	reported := map[string]int{}
	for _, name := range slices.Concat(deleted, remaining, retained) {
		reported[name]++
	}
	for _, name := range before {
		if reported[name] != 1 {
			errs = append(errs, fmt.Errorf("%s is reported %d times", name, reported[name]))
		}
	}
	for _, name := range retained {
		if !slices.Contains(after, name) {
			errs = append(errs, fmt.Errorf("%s is retained, and does not exist", name))
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			errs = append(errs, fmt.Errorf("%s is new", name))
		}
	}
	return errors.Join(errs...)
}

// AsRead checks that each deletion hit the object that the process meant, and not one that another client created with its name.
func AsRead(log []Request) error {
	var errs []error
	for i := range log {
		r := &log[i]
		if r.Hit != "" && r.Hit != r.Intended {
			errs = append(errs, fmt.Errorf("request %d, %s: it deleted uid %q, and was for uid %q", i+1, r, r.Hit, r.Intended))
		}
	}
	return errors.Join(errs...)
}

// OnlyLeaders checks that no process sent a fenced write after it had lost its Lease.
func OnlyLeaders(log []Request, fenced func(*Request) bool) error {
	var errs []error
	for i := range log {
		if r := &log[i]; r.Write && r.Deposed && r.Reached && fenced != nil && fenced(r) {
			errs = append(errs, fmt.Errorf("request %d, %s: the process had lost its Lease", i+1, r))
		}
	}
	return errors.Join(errs...)
}

// strangersLive checks that what other clients created with the name of something deleted was not deleted.
func (g *Gate) strangersLive() error {
	g.mu.Lock()
	strangers := slices.Clone(g.strangers)
	g.mu.Unlock()
	var errs []error
	for _, s := range strangers {
		now, err := typed(s.truth, s.object)
		if err != nil {
			return err
		}
		err = s.truth.Get(background, client.ObjectKeyFromObject(s.object), now)
		if err != nil || now.GetUID() != s.object.GetUID() || !now.GetDeletionTimestamp().IsZero() {
			errs = append(errs, fmt.Errorf("%s of another client was deleted", describe(now, client.ObjectKeyFromObject(s.object))))
		}
	}
	return errors.Join(errs...)
}

// NamespaceDeleted notes that a namespace was deleted: with what other clients had in it.
func (g *Gate) NamespaceDeleted(namespace string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.strangers = slices.DeleteFunc(g.strangers, func(s stranger) bool { return s.object.GetNamespace() == namespace })
}

// IsStranger reports whether an object is one that another client created with the name of something deleted.
func (g *Gate) IsStranger(like client.Object, namespace, name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.strangers, func(s stranger) bool {
		return reflect.TypeOf(s.object) == reflect.TypeOf(like) && s.object.GetNamespace() == namespace && s.object.GetName() == name
	})
}
