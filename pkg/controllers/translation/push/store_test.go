// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// store is an API server with Translations, and a reconciler that writes to it. It rejects all writes except those of a status and
// of finalizers, and writes without the required preconditions.
type store struct {
	client.Client
	t *testing.T
	*reconciler
	recorder *events.FakeRecorder
	writes   []string
	// fault is the error of the next write, if not nil.
	fault error
	now   time.Time
}

func newStore(t *testing.T, objects ...client.Object) *store {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := midonetv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &store{t: t, recorder: events.NewFakeRecorder(100), now: start}
	truth := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&midonetv1.Translation{}).Build()
	s.Client = truth
	written := interceptor.NewClient(truth, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("the reconciler reads nothing")
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("the reconciler creates nothing")
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return errors.New("the reconciler updates nothing")
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return errors.New("the reconciler deletes nothing")
		},
		Patch:             s.patch,
		SubResourceUpdate: s.updateStatus,
	})
	s.reconciler = &reconciler{client: written, recorder: s.recorder, checks: newDemand(), now: func() time.Time { return s.now }}
	return s
}

func (s *store) updateStatus(ctx context.Context, truth client.Client, sub string, object client.Object, options ...client.SubResourceUpdateOption) error {
	if sub != "status" || object.GetResourceVersion() == "" || object.GetUID() == "" {
		return fmt.Errorf("an update of %s with version %q and uid %q", sub, object.GetResourceVersion(), object.GetUID())
	}
	return s.write("status of "+object.GetName(), func() error { return truth.SubResource(sub).Update(ctx, object, options...) })
}

func (s *store) patch(ctx context.Context, truth client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	for _, precondition := range []string{`"resourceVersion":"` + object.GetResourceVersion() + `"`, `"uid":"` + string(object.GetUID()) + `"`} {
		if !strings.Contains(string(data), precondition) {
			return fmt.Errorf("the patch lacks %s: %s", precondition, data)
		}
	}
	return s.write("finalizers of "+object.GetName(), func() error { return truth.Patch(ctx, object, patch, options...) })
}

func (s *store) write(what string, do func() error) error {
	if err := s.fault; err != nil {
		s.fault = nil
		return err
	}
	if err := do(); err != nil {
		return err
	}
	s.writes = append(s.writes, what)
	return nil
}

// read returns a Translation from the API server, nil if it does not exist.
func (s *store) read(name string) *midonetv1.Translation {
	s.t.Helper()
	tr := &midonetv1.Translation{}
	err := s.Get(s.t.Context(), types.NamespacedName{Namespace: "default", Name: name}, tr)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return tr
}

// watch delivers a Translation to the reconciler.
func (s *store) watch(name string) {
	s.t.Helper()
	tr := s.read(name)
	s.observe(pack(s.t, tr), tr)
}

// change updates a Translation like a user.
func (s *store) change(name string, edit func(*midonetv1.Translation)) {
	s.t.Helper()
	tr := s.read(name)
	edit(tr)
	tr.Generation++
	if err := s.Update(s.t.Context(), tr); err != nil {
		s.t.Fatal(err)
	}
}

// newEvents returns the events since the last call.
func (s *store) newEvents() []string { return kubetest.Events(s.recorder) }
