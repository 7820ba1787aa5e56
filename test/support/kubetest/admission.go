// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// metadataOf returns the metadata of an object, or of an apply configuration. Its kind is the name of the type where it has none.
func metadataOf(object any) (*metav1.PartialObjectMetadata, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	m := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	if m.Kind == "" {
		m.Kind = reflect.TypeOf(object).Elem().Name()
	}
	return m, nil
}

// identify gives a new object what the API server gives it.
func (s *Server) identify(object client.Object) {
	if s.Admit != nil {
		s.Admit(object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if object.GetUID() == "" {
		s.named++
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", s.named)))
	}
	if object.GetGeneration() == 0 {
		object.SetGeneration(1)
	}
}

// admit rejects a new object in a namespace that terminates.
func (s *Server) admit(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{}
	if err := s.Get(ctx, client.ObjectKey{Name: name}, namespace); name == "" || err != nil || namespace.DeletionTimestamp.IsZero() {
		return nil //nolint:nilerr // tests need not make the namespaces of their objects
	}
	return Terminating(name)
}

// Terminating returns the rejection of a new object in a namespace that terminates.
func Terminating(namespace string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "objects"}, "", errors.New("namespace is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: "namespace " + namespace + " is being terminated", Field: "metadata.namespace"})
	return err
}

// guarded rejects a merge patch that could overwrite what was not read. The subjects of a binding are replaced whatever they are, so
// that such a patch only has to name the binding's uid, which the API server compares.
func (s *Server) guarded(ctx context.Context, object client.Object, kind types.PatchType, data []byte) error {
	if kind != types.MergePatchType {
		return nil
	}
	m := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(data, m); err != nil {
		return err
	}
	switch object.(type) {
	case *rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding:
		found, ok := object.DeepCopyObject().(client.Object)
		if m.UID == "" || !ok {
			break
		}
		if err := s.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
			return err
		}
		if found.GetUID() != m.UID {
			return apierrors.NewInvalid(schema.GroupKind{Group: rbacv1.GroupName}, object.GetName(), nil)
		}
		return nil
	}
	if m.ResourceVersion == "" {
		return fmt.Errorf("a patch of %s has no resourceVersion: %s", object.GetName(), data)
	}
	return nil
}

// same enforces the preconditions of a deletion.
func (s *Server) same(ctx context.Context, object client.Object, options []client.DeleteOption) error {
	given := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions
	if given == nil || given.UID == nil || given.ResourceVersion == nil {
		return fmt.Errorf("a deletion of %s without the uid and the resourceVersion", object.GetName())
	}
	return s.meets(ctx, object, given)
}

// meets reports whether an object meets the preconditions of a deletion. The fake client checks the resource version only.
func (s *Server) meets(ctx context.Context, object client.Object, given *metav1.Preconditions) error {
	found := object.DeepCopyObject().(client.Object)
	if err := s.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
		return err
	}
	if given.UID != nil && found.GetUID() != *given.UID || given.ResourceVersion != nil && found.GetResourceVersion() != *given.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, object.GetName(), errors.New("precondition failed"))
	}
	return nil
}

// apply gives an object that it creates a uid.
func (s *Server) apply(ctx context.Context, c client.WithWatch, applied runtime.ApplyConfiguration, options []client.ApplyOption) error {
	m, err := metadataOf(applied)
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, applied, options...); err != nil {
		return err
	}
	object, err := s.Scheme().New(m.GroupVersionKind())
	if err != nil {
		return err
	}
	created := object.(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(m), created); err != nil || created.GetUID() != "" {
		return err
	}
	s.identify(created)
	return c.Update(ctx, created, client.FieldOwner("apiserver"))
}

// present rejects the status of an object that does not exist, or is another one, which the store would create.
func (s *Server) present(ctx context.Context, applied runtime.ApplyConfiguration) error {
	m, err := metadataOf(applied)
	if err != nil {
		return err
	}
	object, err := s.Scheme().New(m.GroupVersionKind())
	if err != nil {
		return err
	}
	found := object.(client.Object)
	if err := s.Get(ctx, client.ObjectKeyFromObject(m), found); err != nil {
		return err
	}
	if m.UID != "" && m.UID != found.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, m.Name, errors.New("precondition failed: the uid differs"))
	}
	return nil
}
