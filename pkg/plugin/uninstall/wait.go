// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// left is what a step still waits for.
type left struct {
	// names are what is left. As long as they change, there is progress.
	names []string
	// why is what blocks it. It is reported, and is no progress.
	why string
}

// String is a line of progress.
func (l left) String() string {
	const most = 3
	names := l.names
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	text := strings.Join(names, ", ") + more
	if l.why != "" {
		text += ": " + l.why
	}
	return text
}

// errDenied: what is left was denied, and waiting does not help.
var errDenied = errors.New("denied")

// until polls until nothing is left. It fails when there was no progress for the timeout, and reports what blocks it.
// A failure that may pass is no end: it is shown, and counts as no progress.
func (u *Uninstaller) until(ctx context.Context, what string, look func(context.Context) (left, error)) error {
	progress := time.Now()
	var last left
	for first := true; ; first = false {
		now, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errDenied):
			return err
		case err != nil:
			now = left{last.names, err.Error()}
		case len(now.names) == 0:
			return nil
		}
		if !first && !slices.Equal(now.names, last.names) {
			progress = time.Now()
		}
		last = now
		u.Show(fmt.Sprintf("%s: %s", what, last))
		if time.Since(progress) >= u.Timeout {
			return fmt.Errorf("no progress for %s (%s): see to it, and give the same command again", u.Timeout, last)
		}
		if err := pause(ctx, u.poll); err != nil {
			return err
		}
	}
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// remove deletes the very object that was seen. If it no longer exists, or was recreated, nothing is done: the next check
// reports it.
func (u *Uninstaller) remove(ctx context.Context, resource schema.GroupVersionResource, namespace, name, uid string, propagation metav1.DeletionPropagation) error {
	err := u.Metadata.Resource(resource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: new(types.UID(uid))}, PropagationPolicy: &propagation,
	})
	if apierrors.IsConflict(err) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", resource.Resource, strings.TrimPrefix(namespace+"/"+name, "/"), err)
	}
	return nil
}
