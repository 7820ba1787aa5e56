// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

// hooked returns the Machines and OpenStackClusters of Cluster API that a hook, a finalizer or a pause of Groundskeeper keeps from being
// deleted.
func (u *Uninstaller) hooked(ctx context.Context) (all []part, err error) {
	served, _, err := u.resources(ctx) // what is not served is reported with the parts
	if err != nil {
		return nil, err
	}
	for _, of := range served {
		if kind := of.GroupResource(); kind != machines && kind != infrastructures {
			continue
		}
		objects, err := u.metadataOf(ctx, of.GroupVersionResource, metav1.NamespaceAll, "")
		if fails(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range objects {
			if _, changed := unhooked(objects[i].ObjectMeta); changed {
				all = append(all, part{of.GroupVersionResource, objects[i].ObjectMeta})
			}
		}
	}
	return all, nil
}

// Resources of Cluster API and of its infrastructure provider whose objects wait for Deorbit.
var (
	machines        = schema.GroupResource{Group: desired.Group, Resource: "machines"}
	infrastructures = schema.GroupResource{Group: desired.InfrastructureGroup, Resource: "openstackclusters"}
)

// unhooked returns metadata without what keeps an object for Deorbit, and whether that changes it.
func unhooked(m metav1.ObjectMeta) (after metav1.ObjectMeta, changed bool) {
	after = *m.DeepCopy()
	after.Finalizers = slices.DeleteFunc(after.Finalizers, func(name string) bool { return name == desired.Finalizer })
	delete(after.Annotations, desired.AnnotationHook)
	if after.Annotations[desired.AnnotationPaused] == desired.PausedForDeorbit {
		delete(after.Annotations, desired.AnnotationPaused)
	}
	return after, len(after.Finalizers) != len(m.Finalizers) || len(after.Annotations) != len(m.Annotations)
}

// unhook removes what keeps objects of Cluster API for a Deorbit that no controller does any more.
func (u *Uninstaller) unhook(ctx context.Context) (string, error) {
	count := 0
	err := u.until(ctx, "hooks and finalizers of objects of Cluster API", func(ctx context.Context) (left, error) {
		found, err := u.hooked(ctx)
		var l left
		for _, p := range found {
			before := &metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta}
			after := before.DeepCopy()
			after.ObjectMeta, _ = unhooked(p.ObjectMeta)
			data, err := optimistic(before).Data(after)
			if err != nil {
				return l, err
			}
			l.names = append(l.names, p.String())
			_, err = u.Metadata.Resource(p.resource).Namespace(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, data, metav1.PatchOptions{})
			switch {
			case err == nil:
				count++
			case apierrors.IsConflict(err), apierrors.IsNotFound(err): // it is read again
			default:
				return l, rejection(before, err)
			}
		}
		return l, err
	})
	return done(count, "objects of Cluster API have no hooks and finalizers of Groundskeeper any more", err)
}
