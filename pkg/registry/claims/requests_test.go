// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/example"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// server is the store with the requests of the tests.
type server struct{ claims.Store }

// waitReady waits until the watch cache serves.
func (s *server) waitReady(t *testing.T) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.ReadinessCheckFunc() == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
}

func in(namespace string) context.Context {
	return genericapirequest.WithNamespace(genericapirequest.NewContext(), namespace)
}

func pod(namespace, name, node string) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: example.PodSpec{NodeName: node}}
}

func generated(namespace, generateName, node string) *example.Pod {
	p := pod(namespace, "", node)
	p.GenerateName = generateName
	return p
}

func (s *server) create(ctx context.Context, p *example.Pod, dry ...string) error {
	_, err := s.Create(genericapirequest.WithNamespace(ctx, p.Namespace), p.DeepCopy(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dry})
	return err
}

// apply creates or replaces, on the path of server-side apply.
func (s *server) apply(ctx context.Context, p *example.Pod, dry ...string) error {
	return s.change(ctx, p.Namespace, p.Name, func(current *example.Pod) {
		current.Namespace, current.Name, current.Spec, current.Finalizers = p.Namespace, p.Name, p.Spec, p.Finalizers
	}, dry...)
}

func (s *server) change(ctx context.Context, namespace, name string, change func(*example.Pod), dry ...string) error {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		p := old.DeepCopyObject().(*example.Pod)
		change(p)
		return p, nil
	})
	_, _, err := s.Update(genericapirequest.WithNamespace(ctx, namespace), name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{DryRun: dry})
	return err
}

func (s *server) delete(ctx context.Context, namespace, name string, dry ...string) error {
	_, _, err := s.Delete(genericapirequest.WithNamespace(ctx, namespace), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: dry})
	return err
}
