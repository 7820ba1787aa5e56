// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// flow is the controller on a store.
type flow struct {
	t        *testing.T
	store    client.WithWatch
	r        *reconciler
	recorder *events.FakeRecorder
	writes   []string
	// intercept is called before each write, read before each read.
	intercept func(verb string, object any) error
	read      func(object any) error
	// stale is a Kluster as the cache still has it.
	stale *kubernikusv1.Kluster
}

func newFlow(t *testing.T, objects ...client.Object) *flow {
	t.Helper()
	f := &flow{t: t, store: klustertest.NewStore(t, objects...), recorder: events.NewFakeRecorder(100)}
	counted := interceptor.NewClient(f.store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if k, ok := object.(*kubernikusv1.Kluster); ok && f.stale != nil {
				f.stale.DeepCopyInto(k)
				return nil
			}
			return c.Get(ctx, key, object, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := f.writing("create", object); err != nil {
				return err
			}
			return c.Create(ctx, object, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := f.writing("delete", object); err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if err := f.writing("apply", object); err != nil {
				return err
			}
			return c.Apply(ctx, object, options...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, name string, object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			if err := f.writing(name, object); err != nil {
				return err
			}
			return c.SubResource(name).Apply(ctx, object, options...)
		},
	})
	live := interceptor.NewClient(f.store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if f.read != nil {
				if err := f.read(object); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, objects client.ObjectList, options ...client.ListOption) error {
			if f.read != nil {
				if err := f.read(objects); err != nil {
					return err
				}
			}
			return c.List(ctx, objects, options...)
		},
	})
	f.r = &reconciler{client: counted, live: live, clock: clocktesting.NewFakePassiveClock(time.Now()), recorder: f.recorder}
	return f
}

func (f *flow) writing(verb string, object any) error {
	f.writes = append(f.writes, verb)
	if f.intercept != nil {
		return f.intercept(verb, object)
	}
	return nil
}

// reconcile reconciles once, and returns the condition.
func (f *flow) reconcile(k *kubernikusv1.Kluster) (string, reconcile.Result) {
	f.t.Helper()
	result, err := f.r.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
	if err != nil {
		f.t.Fatal(err)
	}
	f.get(k)
	return klustertest.Condition(k, kubernikusv1.ConditionAnnounced), result
}

// want reconciles once and checks the condition.
func (f *flow) want(k *kubernikusv1.Kluster, condition string) {
	f.t.Helper()
	if got, _ := f.reconcile(k); got != condition {
		f.t.Errorf("Announced is %q, want %q: %+v", got, condition, current(k))
	}
}

// quiet reconciles once that writes nothing.
func (f *flow) quiet(k *kubernikusv1.Kluster) {
	f.t.Helper()
	before := len(f.writes)
	f.reconcile(k)
	if now := f.writes[before:]; len(now) > 0 {
		f.t.Errorf("nothing has changed, and it writes: %v", now)
	}
}

func (f *flow) get(object client.Object) bool {
	f.t.Helper()
	err := f.store.Get(f.t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		f.t.Fatal(err)
	}
	return err == nil
}

func (f *flow) create(objects ...client.Object) {
	f.t.Helper()
	for _, object := range objects {
		if err := f.store.Create(f.t.Context(), object); err != nil {
			f.t.Fatal(err)
		}
	}
}

// change edits an object as its user. The generation of a Kluster increases.
func (f *flow) change(object client.Object, how func()) {
	f.t.Helper()
	f.get(object)
	how()
	object.SetGeneration(object.GetGeneration() + 1)
	if err := f.store.Update(f.t.Context(), object, client.FieldOwner("user")); err != nil {
		f.t.Fatal(err)
	}
}

// drain does the work of the controller of maintenance.
func (f *flow) drain(backend *gimbalv1.DiscoveryBackend) {
	f.t.Helper()
	f.get(backend)
	drained(backend, "True", "Drained", "")
	if err := f.store.Status().Update(f.t.Context(), backend); err != nil {
		f.t.Fatal(err)
	}
}

// there reads what is announced, and reports about what there is anything.
func (f *flow) there(k *kubernikusv1.Kluster, namespace string) (backend *gimbalv1.DiscoveryBackend, secret *corev1.Secret) {
	f.t.Helper()
	backend, secret = &gimbalv1.DiscoveryBackend{}, &corev1.Secret{}
	backend.Namespace, backend.Name = namespace, k.Name
	secret.Namespace, secret.Name = namespace, secretName(k)
	if !f.get(backend) {
		backend = nil
	}
	if !f.get(secret) {
		secret = nil
	}
	return backend, secret
}

// events are those since the last call.
func (f *flow) events() string {
	var all []string
	for {
		select {
		case e := <-f.recorder.Events:
			all = append(all, e)
		default:
			return strings.Join(all, "\n")
		}
	}
}

// credentials is the Secret of a Kluster.
func credentials(name, server string) *corev1.Secret {
	return klustertest.Secret(name, "https://keystone.example", "u", hidden, "p", map[string][]byte{kluster.KeyKubeconfig: kubeconfigFor(server)})
}

// newAnnounced is a flow with a Kluster that is announced.
func newAnnounced(t *testing.T) (*flow, *kubernikusv1.Kluster) {
	t.Helper()
	k := klustertest.Kluster("k", toBeAnnounced)
	f := newFlow(t, k, credentials("k-secret", "https://a.example"))
	f.want(k, "True/Announced")
	f.events()
	f.writes = nil
	return f, k
}
