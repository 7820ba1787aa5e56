// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const (
	// maxLookups is the number of groups from which on a comparison with all Projects is not much slower than the index.
	maxLookups = 64
	// lookupAttempts is how often the index is read again because Projects were written between its lookups.
	lookupAttempts = 3
	// anyVersion is the resource version of a list of whatever the watch cache has.
	anyVersion = "0"
)

// List returns the Projects that the user may get.
func (s *Storage) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	mine, all, err := s.narrow(ctx, options)
	if err != nil {
		return nil, err
	}
	if all {
		return s.REST.List(ctx, options)
	}
	projects, err := s.find(ctx, options, mine)
	if err != nil {
		return nil, err
	}
	if isPast(options) && len(projects.Items) > 0 {
		now, err := s.present(ctx, mine)
		if err != nil {
			return nil, err
		}
		for i := range projects.Items {
			if !now.readable.Has(projects.Items[i].UID) {
				return nil, errExpired()
			}
		}
	}
	projects.RemainingItemCount = nil // of what others have
	if projects.Continue == "" {
		return projects, nil
	}
	// A token for a page without items would reveal that there are others.
	next := options.DeepCopy()
	next.Limit, next.Continue, next.ResourceVersion, next.ResourceVersionMatch = 1, projects.Continue, "", ""
	page, err := s.list(ctx, next, mine)
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 {
		projects.Continue = ""
	}
	return projects, nil
}

// narrow returns a selector of what the user may get, of what the options select, and whether that is everything.
func (s *Storage) narrow(ctx context.Context, options *internalversion.ListOptions) (readable, bool, error) {
	request, err := requested(ctx)
	if err != nil {
		return readable{}, false, err
	}
	all, err := s.server.allowsAny(ctx, request)
	if err != nil {
		return readable{}, false, unknown(err)
	}
	return readableBy(request.User, ptr.Deref(options, internalversion.ListOptions{}).FieldSelector), all, nil
}

// find returns a list of what a selector selects, by the index of readers if that is of use.
func (s *Storage) find(ctx context.Context, options *internalversion.ListOptions, selector readable) (*gardenerv1beta1.ProjectList, error) {
	if s.server.cached && selector.isIndexed(options) {
		if projects, err := s.listByIndex(ctx, options, selector); err != nil || projects != nil {
			return projects, err
		}
	}
	return s.list(ctx, options, selector)
}

// with returns the options with another field selector.
func with(options *internalversion.ListOptions, selector fields.Selector) *internalversion.ListOptions {
	narrowed := ptr.Deref(options, internalversion.ListOptions{})
	narrowed.FieldSelector = selector
	return &narrowed
}

func (s *Storage) list(ctx context.Context, options *internalversion.ListOptions, selector readable) (*gardenerv1beta1.ProjectList, error) {
	objects, err := s.REST.List(ctx, with(options, selector))
	if err != nil {
		return nil, err
	}
	projects, ok := objects.(*gardenerv1beta1.ProjectList)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("a list of projects is a %T", objects))
	}
	return projects, nil
}

// isIndexed reports whether the index of readers is of use for a list: the watch cache has indexes of its latest state, but neither of
// earlier ones nor for the next page; and a selector of one Project needs none.
func (r readable) isIndexed(options *internalversion.ListOptions) bool {
	for _, field := range []string{"metadata.name", gardenerv1beta1.ProjectNamespaceField} {
		if _, one := r.Selector.RequiresExactMatch(field); one {
			return false
		}
	}
	return !isPast(options) && len(r.tokens) <= maxLookups
}

// listByIndex returns the Projects of a user by the index of readers, with one lookup for the name and one for each group of the user.
// All lookups have the same resource version, so that together they are the state of it. It returns nil if Projects are written between
// the lookups each time, or if there are more than a page.
func (s *Storage) listByIndex(ctx context.Context, options *internalversion.ListOptions, selector readable) (*gardenerv1beta1.ProjectList, error) {
	first := with(options, selector)
	limit := first.Limit
	if first.ResourceVersion == anyVersion { // the watch cache ignores a limit
		limit = 0
	}
	first.Limit = 0
	rest := with(first, selector)
	rest.ResourceVersion, rest.ResourceVersionMatch = anyVersion, ""
	for range lookupAttempts {
		projects, err := s.lookUp(ctx, first, rest, selector)
		switch {
		case err != nil:
			return nil, err
		case projects == nil:
			continue
		case limit > 0 && int64(len(projects.Items)) > limit:
			return nil, nil
		}
		return projects, nil
	}
	return nil, nil
}

// lookUp looks up each token of a selector: one with the first options, the others with those of the rest. It returns nil if
// the state has changed in between.
func (s *Storage) lookUp(ctx context.Context, first, rest *internalversion.ListOptions, selector readable) (*gardenerv1beta1.ProjectList, error) {
	var all *gardenerv1beta1.ProjectList
	for i, token := range selector.tokens {
		options := rest
		if i == 0 {
			options = first
		}
		selector.by = token
		found, err := s.list(ctx, options, selector)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = found
		case found.ResourceVersion != all.ResourceVersion:
			return nil, nil
		default:
			all.Items = append(all.Items, found.Items...)
		}
	}
	byName := func(a, b gardenerv1beta1.Project) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(all.Items, byName)
	all.Items = slices.CompactFunc(all.Items, func(a, b gardenerv1beta1.Project) bool { return a.Name == b.Name })
	return all, nil
}
