// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/support/faulttest"
)

// through sends what references request of routes through the gate.
func (w *world) through(g *faulttest.Gate) {
	w.routes.PrependReactor("*", "*", func(action ktesting.Action) (handled bool, result runtime.Object, err error) {
		request := faulttest.Request{Verb: action.GetVerb(), Object: action.GetResource().Resource, Write: action.GetVerb() == "update"}
		if update, ok := action.(ktesting.UpdateActionImpl); ok {
			request.Object += " " + update.Object.(*unstructured.Unstructured).GetName()
		}
		err = g.Do(request, g.Process(), func() error {
			if handled, result, err = w.react(action); handled || err != nil {
				return err
			}
			update := action.(ktesting.UpdateActionImpl)
			result = update.Object
			return w.routes.Tracker().Update(update.Resource, update.Object, update.Namespace)
		})
		return true, result, err
	})
}

// contents returns the routes as JSON, without their versions and annotations.
func (w *world) contents(names ...string) faulttest.Inventory {
	w.Helper()
	found := faulttest.Inventory{}
	for _, name := range names {
		namespace, name, _ := strings.Cut(name, "/")
		object := w.get(proxies, namespace, name).DeepCopy()
		object.SetResourceVersion("")
		text, err := json.Marshal(object)
		if err != nil {
			w.Fatal(err)
		}
		found[namespace+"/"+name] = string(text)
	}
	return found
}

// TestEveryFault checks that all references to the Services of a backend are removed, and that routes without one remain byte for byte,
// whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("bank", "us-web", "us"), service("shop", "eu-web", "eu"), service("shop", "own", ""))
		w.proxy("shop", "a", "us-web", "eu-web")
		w.proxy("shop", "b", "us-web", "own")
		w.proxy("bank", "c", "us-web", "us-else")
		w.proxy("shop", "other", "eu-web", "own")
		w.proxy("bank", "else", "own")
		before := w.contents("shop/other", "bank/else")
		w.through(g)
		live := w.references.Live.(client.WithWatch)
		restart := func() { w.references.Live = g.Live(live, live) }
		restart()
		var last Result
		return &faulttest.Life{
			Step: func(ctx context.Context) (err error) {
				clear(w.after) // each list begins with its first page
				last, err = w.references.Remove(ctx, us(adminNamespace))
				return err
			},
			Restart: restart,
			Acts: []faulttest.Act{{Name: "remove", Do: func() {}, Left: func() string {
				if last.Left+len(last.Rejected)+len(last.Removed) > 0 {
					return fmt.Sprintf("%+v", last)
				}
				return ""
			}}},
			Check: func() error {
				errs := []error{faulttest.Restored(before, w.contents("shop/other", "bank/else"))}
				for name, want := range map[string]string{"shop/a": "eu-web", "shop/b": "own", "bank/c": "us-else"} {
					namespace, name, _ := strings.Cut(name, "/")
					if got := w.services(namespace, name); got != want {
						errs = append(errs, fmt.Errorf("%s/%s refers to %q, want %q", namespace, name, got, want))
					}
				}
				if len(last.Recorded) != 3 {
					errs = append(errs, fmt.Errorf("%q have a record, want 3", last.Recorded))
				}
				return errors.Join(errs...)
			},
		}
	}}.Test(t)
}
