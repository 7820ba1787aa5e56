// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// right is something that can be done, who is allowed to do it, and a real request that does it. Requests that would change
// something are dry runs, which need the same permissions.
type right struct {
	what    string
	who     []string
	request request
}

// request is sent in the name of the user that the client impersonates.
type request func(ctx context.Context, c client.WithWatch) error

// isRejected reports whether a request failed for want of permissions: not because a name is taken, nor because something is missing
// or invalid.
func isRejected(err error) bool {
	return apierrors.IsForbidden(err) && (strings.Contains(err.Error(), " cannot ") || strings.Contains(err.Error(), "attempting to grant"))
}

// toEverything returns the permissions to everything that can be done with the objects of one kind in a namespace. The object
// exists.
func toEverything[L client.ObjectList](what string, object client.Object, objects L, readers, writers []string) []right {
	namespace := object.GetNamespace()
	other := object.DeepCopyObject().(client.Object)
	other.SetName(object.GetName() + "2")
	return []right{
		{"get " + what, readers, toGet(object)},
		{"list " + what, readers, toList(objects, namespace)},
		{"watch " + what, readers, func(ctx context.Context, c client.WithWatch) error {
			events, err := c.Watch(ctx, objects.DeepCopyObject().(client.ObjectList), client.InNamespace(namespace))
			if err == nil {
				events.Stop()
			}
			return err
		}},
		{"create " + what, writers, toCreate(other)},
		{"update " + what, writers, toUpdate(object)},
		{"patch " + what, writers, toPatch(object)},
		{"delete " + what, writers, toDelete(object)},
		{"delete all " + what, writers, func(ctx context.Context, c client.WithWatch) error {
			return c.DeleteAllOf(ctx, copyOf(object), client.InNamespace(namespace), client.DryRunAll)
		}},
	}
}

// copyOf keeps the response to one request out of the next.
func copyOf(object client.Object) client.Object { return object.DeepCopyObject().(client.Object) }

func toGet(object client.Object) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.Get(ctx, client.ObjectKeyFromObject(object), copyOf(object))
	}
}

func toList(objects client.ObjectList, namespace string) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.List(ctx, objects.DeepCopyObject().(client.ObjectList), client.InNamespace(namespace))
	}
}

// toListNamed and toWatchNamed return the requests of kubectl get --watch, wait and delete for one Project.
func toListNamed(project string) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.List(ctx, &gardenerv1beta1.ProjectList{}, client.MatchingFields{"metadata.name": project})
	}
}

func toWatchNamed(project string) request {
	return func(ctx context.Context, c client.WithWatch) error {
		events, err := c.Watch(ctx, &gardenerv1beta1.ProjectList{}, client.MatchingFields{"metadata.name": project})
		if err == nil {
			events.Stop()
		}
		return err
	}
}

func toCreate(object client.Object) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.Create(ctx, copyOf(object), client.DryRunAll)
	}
}

func toUpdate(object client.Object) request {
	return func(ctx context.Context, c client.WithWatch) error {
		next := copyOf(object)
		next.SetResourceVersion("")
		next.SetAnnotations(map[string]string{"example.com/updated": "true"})
		return c.Update(ctx, next, client.DryRunAll)
	}
}

func annotate() client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/patched":"true"}}}`))
}

func toPatch(object client.Object) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.Patch(ctx, copyOf(object), annotate(), client.DryRunAll)
	}
}

func toPatchStatus(object client.Object) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.Status().Patch(ctx, copyOf(object), annotate(), client.DryRunAll)
	}
}

func toDelete(object client.Object) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.Delete(ctx, copyOf(object), client.DryRunAll)
	}
}

func toCreateToken(account metav1.ObjectMeta) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: account}, &authenticationv1.TokenRequest{})
	}
}

// toHaveVerb requests a verb that no request has.
func toHaveVerb(verb string, project *gardenerv1beta1.Project) request {
	return func(ctx context.Context, c client.WithWatch) error {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: gardenerv1beta1.GroupName, Resource: "projects", Name: project.Name},
		}}
		if err := c.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			return apierrors.NewForbidden(gardenerv1beta1.Resource("projects"), project.Name, errors.New("the user cannot "+verb))
		}
		return nil
	}
}
