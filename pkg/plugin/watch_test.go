// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// server responds with an object as the API server does, decoding JSON into the existing object. Its watches are those of the
// function.
func server(t *testing.T, object client.Object, watches func(c client.Client) (watch.Interface, error)) client.WithWatch {
	t.Helper()
	return interceptor.NewClient(kubetest.New(t, object), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			found := into.DeepCopyObject().(client.Object)
			if err := c.Get(ctx, key, found); err != nil {
				return err
			}
			data, err := json.Marshal(found)
			if err != nil {
				return err
			}
			return json.Unmarshal(data, into)
		},
		Watch: func(_ context.Context, c client.WithWatch, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
			return watches(c)
		},
	})
}

// ended returns a watch that is over.
func ended() watch.Interface {
	w := watch.NewFake()
	w.Stop()
	return w
}

func kluster(uid string) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: types.UID(uid)}}
}

var (
	errDeleted = errors.New("gone")
	errSpin    = errors.New("it polls continuously")
)

// neverLost fails the test when the API server is unavailable.
func neverLost(t *testing.T) func(error) {
	return func(err error) { t.Errorf("lost: %v", err) }
}

// TestFollowEndsWithItsObject checks that another object with the same name ends the watch, even if a broken watch missed the
// deletion.
func TestFollowEndsWithItsObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rounds := 0
		c := server(t, kluster("first"), func(c client.Client) (watch.Interface, error) {
			if rounds++; rounds > 5 {
				return nil, errSpin
			}
			if rounds > 1 {
				return ended(), nil
			}
			return ended(), errors.Join(c.Delete(t.Context(), kluster("first")), c.Create(t.Context(), kluster("second")))
		})
		notified := 0
		err := follow(t.Context(), c, kluster("first"), &kubernikusv1.KlusterList{}, func(k *kubernikusv1.Kluster) error {
			notified++
			if k.UID != "first" {
				t.Errorf("notified of %s", k.UID)
			}
			return nil
		}, neverLost(t), errDeleted)
		if !errors.Is(err, errDeleted) || notified != 1 {
			t.Errorf("notifications = %d, error = %v", notified, err)
		}
	})
}

// Fields that were removed are not reported after a broken watch.
func TestFollowDiscardsRemovedFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kluster("first")
		k.Annotations = map[string]string{"example.com/old": "true"}
		rounds := 0
		c := server(t, k, func(c client.Client) (watch.Interface, error) {
			if rounds++; rounds > 1 {
				return nil, errSpin
			}
			now := &kubernikusv1.Kluster{}
			err := c.Get(t.Context(), client.ObjectKeyFromObject(k), now)
			now.Annotations = nil
			return ended(), errors.Join(err, c.Update(t.Context(), now))
		})
		var notified []int
		err := follow(t.Context(), c, k.DeepCopy(), &kubernikusv1.KlusterList{}, func(k *kubernikusv1.Kluster) error {
			notified = append(notified, len(k.Annotations))
			return nil
		}, neverLost(t), errDeleted)
		if !errors.Is(err, errSpin) || len(notified) != 2 || notified[0] != 1 || notified[1] != 0 {
			t.Errorf("annotations %v, %v", notified, err)
		}
	})
}

// Watches that end immediately are not restarted continuously.
func TestFollowPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rounds := 0
		c := server(t, kluster("first"), func(client.Client) (watch.Interface, error) {
			if rounds++; rounds > 100 {
				return nil, errSpin
			}
			return ended(), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := follow(ctx, c, kluster("first"), &kubernikusv1.KlusterList{}, func(*kubernikusv1.Kluster) error { return nil }, neverLost(t), errDeleted)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %d watches: %v", rounds, err)
		}
	})
}

// An unavailable API server is retried for five minutes. A denied request ends the watch.
func TestFollowIsPatient(t *testing.T) {
	resource := schema.GroupResource{Group: "kubernikus.sap.cc", Resource: "klusters"}
	away := map[string]error{
		"not served":   apierrors.NewServiceUnavailable("the server is currently unable to handle the request"),
		"inProgress":   apierrors.NewTooManyRequests("try later", 1),
		"broken":       apierrors.NewInternalError(errors.New("etcd has no leader")),
		"slow":         apierrors.NewTimeoutError("too slow", 1),
		"slow storage": apierrors.NewServerTimeout(resource, "get", 1),
		"not there":    &url.Error{Op: "Get", URL: "https://127.0.0.1", Err: syscall.ECONNREFUSED},
	}
	for name, err := range away {
		synctest.Test(t, func(t *testing.T) {
			rounds, lost := 0, 0
			c := server(t, kluster("first"), func(client.Client) (watch.Interface, error) {
				switch rounds++; rounds {
				case 1, 2, 4:
					return nil, err
				case 3:
					time.Sleep(2 * patience) // a watch that worked for long
					return ended(), nil
				default:
					return nil, errSpin
				}
			})
			got := follow(t.Context(), c, kluster("first"), &kubernikusv1.KlusterList{}, func(*kubernikusv1.Kluster) error { return nil },
				func(error) { lost++ }, errDeleted)
			if !errors.Is(got, errSpin) || lost != 3 {
				t.Errorf("%s: lost %d times, %v", name, lost, got)
			}
			begun := time.Now()
			c = server(t, kluster("first"), func(client.Client) (watch.Interface, error) { return nil, err })
			got = follow(t.Context(), c, kluster("first"), &kubernikusv1.KlusterList{}, func(*kubernikusv1.Kluster) error { return nil },
				func(error) {}, errDeleted)
			if took := time.Since(begun); !errors.Is(got, err) || took < patience || took > patience+time.Minute {
				t.Errorf("%s: it gives up after %s: %v", name, took, got)
			}
		})
	}
	for name, err := range map[string]error{
		"forbidden": apierrors.NewForbidden(resource, "web", errors.New("no")), "unauthorized": apierrors.NewUnauthorized("who are you"),
	} {
		c := server(t, kluster("first"), func(client.Client) (watch.Interface, error) { return nil, err })
		got := follow(t.Context(), c, kluster("first"), &kubernikusv1.KlusterList{}, func(*kubernikusv1.Kluster) error { return nil }, neverLost(t), errDeleted)
		if !errors.Is(got, err) {
			t.Errorf("%s: %v", name, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := server(t, kluster("first"), func(client.Client) (watch.Interface, error) {
			cancel()
			return nil, &url.Error{Op: "Get", URL: "https://127.0.0.1", Err: ctx.Err()}
		})
		if err := follow(ctx, c, kluster("first"), &kubernikusv1.KlusterList{}, func(*kubernikusv1.Kluster) error { return nil }, neverLost(t), errDeleted); err == nil {
			t.Error("it continues after its end")
		}
	})
}

// A watch reports changes, and its end.
func TestFollowWatches(t *testing.T) {
	for name, last := range map[string]watch.Event{
		"deleted":     {Type: watch.Deleted, Object: kluster("first")},
		"another one": {Type: watch.Added, Object: kluster("second")},
	} {
		events := watch.NewFakeWithChanSize(4, false)
		events.Action(watch.Bookmark, &kubernikusv1.Kluster{})
		events.Add(&gimbalv1.DiscoveryBackend{})
		events.Modify(kluster("first"))
		events.Action(last.Type, last.Object)
		c := server(t, kluster("first"), func(client.Client) (watch.Interface, error) { return events, nil })
		notified := 0
		err := follow(t.Context(), c, kluster("first"), &kubernikusv1.KlusterList{}, func(*kubernikusv1.Kluster) error { notified++; return nil }, neverLost(t), errDeleted)
		want := map[string]int{"deleted": 3, "another one": 2}[name]
		if !errors.Is(err, errDeleted) || notified != want {
			t.Errorf("%s: notifications = %d, want %d, error = %v", name, notified, want, err)
		}
	}
}

// TestReasonHasTheContext checks that the reason why a Translation remains is queried with the context of the step, and not after
// it.
func TestReasonHasTheContext(t *testing.T) {
	tr := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "node", Finalizers: []string{midonetv1.FinalizerName}}}
	tr.Status.Resources = []midonetv1.BackendResourceStatus{{State: midonetv1.BackendResourceFailed, Kind: "Router", ID: "1", Message: "refused"}}
	c := &command{clock: testingclock.NewFakePassiveClock(noon), client: server(t, tr, nil)}
	m := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Translation"}, ObjectMeta: tr.ObjectMeta}
	if got := c.reason(t.Context(), m); got == "" {
		t.Error("nothing is known")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := c.reason(ctx, m); got != "" {
		t.Errorf("it queried %q", got)
	}
}
