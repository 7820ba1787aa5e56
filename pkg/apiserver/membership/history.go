// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// present is what a user may get in a state that is not older than the request.
//
// The selector of readers compares a user with the members of the state that is returned. That is a permission only for the present
// state: in an earlier one a removed member is still a member, and a user who has joined a group since reads what the group was
// allowed to read before. So what is returned of an earlier state has to be readable in the present one as well. If something is not,
// the earlier state has expired for this user, as for all users after a compaction: clients list again.
type present struct {
	version  uint64
	readable sets.Set[types.UID]
}

// errExpired is the error of a request for a state of which the user may no longer get everything. It names no Project.
func errExpired() *apierrors.StatusError {
	return apierrors.NewResourceExpired("this resource version has projects that you are not, or no longer, allowed to get: " +
		"list again without resourceVersion and continue")
}

// isPast reports whether a list has the state of a certain resource version, which may be an earlier one.
func isPast(options *internalversion.ListOptions) bool {
	if options == nil {
		return false
	}
	return options.Continue != "" || options.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		options.ResourceVersionMatch == "" && options.Limit > 0 && options.ResourceVersion != "" && options.ResourceVersion != anyVersion
}

// present reads what the user of a selector may get now.
func (s *Storage) present(ctx context.Context, mine readable) (*present, error) {
	selector := readable{Selector: fields.Everything(), tokens: mine.tokens}
	if name, one := mine.RequiresExactMatch("metadata.name"); one {
		selector.Selector = fields.OneTermEqualSelector("metadata.name", name)
	}
	projects, err := s.find(ctx, &internalversion.ListOptions{}, selector)
	if err != nil {
		return nil, err
	}
	version, err := storage.APIObjectVersioner{}.ParseResourceVersion(projects.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("a list of projects has resource version %q: %w", projects.ResourceVersion, err))
	}
	now := &present{version, make(sets.Set[types.UID], len(projects.Items))}
	for i := range projects.Items {
		now.readable.Insert(projects.Items[i].UID)
	}
	return now, nil
}

// admits reports whether the user may receive an event: one of a Project that the user may get now, or one that has happened since, which
// is judged by the members before and after it. It also reports whether all further events have happened since.
func (p *present) admits(event watch.Event) (admitted, since bool) {
	if event.Type == watch.Error {
		return true, false
	}
	object, err := meta.Accessor(event.Object)
	if err != nil {
		return false, false
	}
	version, err := storage.APIObjectVersioner{}.ParseResourceVersion(object.GetResourceVersion())
	if err == nil && version > p.version {
		return true, true
	}
	return event.Type == watch.Bookmark || p.readable.Has(object.GetUID()), false
}
