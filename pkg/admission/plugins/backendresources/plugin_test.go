// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backendresources

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/admission"
	clienttesting "k8s.io/client-go/testing"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

// write returns a request that creates a Translation, or updates an old one.
func write(t, old runtime.Object, subresource string) admission.Attributes {
	operation := admission.Update
	if old == nil {
		operation = admission.Create
	}
	gv := midonetv1.SchemeGroupVersion
	return admission.NewAttributesRecord(t, old, gv.WithKind("Translation"), "n", "", gv.WithResource("translations"), subresource,
		operation, nil, false, nil)
}

// serving returns the plugin in a server that has these Translations.
func serving(t *testing.T, translations ...runtime.Object) (*Plugin, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(translations...)
	p := New()
	p.SetClient(client)
	p.SetDrainedNotification(t.Context().Done())
	if err := p.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	if err := p.Known(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, client
}

func deleting(t *midonetv1.Translation) *midonetv1.Translation {
	t.DeletionTimestamp, t.Finalizers = new(metav1.Now()), []string{midonetv1.FinalizerName}
	return t
}

func TestValidate(t *testing.T) {
	holderA := func() *midonetv1.Translation { return translation("m", "pod.4.a", owned("1"), chain(idA)) }
	mine := func(resources ...midonetv1.BackendResource) *midonetv1.Translation {
		return translation("n", "pod.4.mine", owned("2"), resources...)
	}
	const rejection = `translations.midonet.org "pod.4.mine" is forbidden: resources[1]: Chain ` + idA +
		` belongs to Translation m/pod.4.a: remove it from that one or delete that one first, or omit it here`
	for name, tc := range map[string]struct {
		others []runtime.Object
		object *midonetv1.Translation
		old    *midonetv1.Translation
		want   string // the rejection
	}{
		"not held":                            {nil, mine(chain(idA)), nil, ""},
		"another resource":                    {[]runtime.Object{holderA()}, mine(chain(idB)), nil, ""},
		"created":                             {[]runtime.Object{holderA()}, mine(chain(idB), chain(idA)), nil, rejection},
		"added":                               {[]runtime.Object{holderA()}, mine(chain(idB), chain(idA)), mine(chain(idB)), rejection},
		"left alone":                          {[]runtime.Object{holderA()}, mine(chain(idB), chain(idA)), mine(chain(idA)), ""},
		"removed":                             {[]runtime.Object{holderA()}, mine(), mine(chain(idA)), ""},
		"the other one is being deleted":      {[]runtime.Object{deleting(holderA())}, mine(chain(idB), chain(idA)), nil, ""},
		"added while being deleted":           {[]runtime.Object{holderA()}, deleting(mine(chain(idB), chain(idA))), deleting(mine()), rejection},
		"itself":                              {[]runtime.Object{mine(chain(idA))}, mine(chain(idB), chain(idA)), mine(), ""},
		"its name in another namespace":       {[]runtime.Object{translation("m", "pod.4.mine", nil, chain(idA))}, mine(chain(idA)), nil, `resources[0]: Chain ` + idA + ` belongs to Translation m/pod.4.mine`},
		"the owner's of another version":      {[]runtime.Object{translation("n", "pod.3.mine", owned("2"), chain(idA))}, mine(chain(idA)), nil, ""},
		"the owner's of this version":         {[]runtime.Object{translation("n", "pod.4.old", owned("2"), chain(idA))}, mine(chain(idA)), nil, "belongs to Translation n/pod.4.old"},
		"the owner's and another one's":       {[]runtime.Object{translation("n", "pod.3.mine", owned("2"), chain(idA)), holderA()}, mine(chain(idB), chain(idA)), nil, rejection},
		"below another parent, with the same": {[]runtime.Object{translation("m", "a", nil, resource("Port", idB, `{"id":"`+idA+`","type":"Bridge"}`))}, mine(resource("Port", idC, `{"id":"`+idA+`","type":"Router"}`)), nil, "resources[0]: Port " + idA + " belongs to Translation m/a"},
		"the binding of another host":         {[]runtime.Object{translation("m", "a", nil, resource("HostInterfacePort", idB, `{"portId":"`+idA+`"}`))}, mine(resource("HostInterfacePort", idC, `{"portId":"`+idA+`"}`)), nil, ""},
		"the link of a port":                  {[]runtime.Object{translation("m", "a", nil, resource("PortLink", idB, `{"peerId":"`+idA+`"}`))}, mine(resource("PortLink", idB, `{"peerId":"`+idC+`"}`)), nil, "resources[0]: PortLink of " + idB + " belongs"},
		"of an unknown kind":                  {[]runtime.Object{translation("m", "a", nil, resource("Unicorn", "", `{"id":"x"}`))}, mine(resource("Unicorn", "", `{"id":"x"}`)), nil, "resources[0]: Unicorn x belongs"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := serving(t, tc.others...)
			var old runtime.Object
			if tc.old != nil {
				old = tc.old
			}
			err := p.Validate(t.Context(), write(tc.object, old, ""), nil)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestValidateFollows checks that the index is updated with the writes of other clients.
func TestValidateFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		client, events := fake.NewClientset(), watch.NewRaceFreeFake()
		client.PrependWatchReactor("translations", clienttesting.DefaultWatchReactor(events, nil))
		current := translation("m", "a", nil, chain(idA))
		client.PrependReactor("get", "translations", func(clienttesting.Action) (bool, runtime.Object, error) { return true, current, nil })
		p := New()
		p.SetClient(client)
		p.SetDrainedNotification(ctx.Done())
		if err := p.ValidateInitialization(); err != nil {
			t.Fatal(err)
		}
		judge := func(what string, rejected bool) {
			t.Helper()
			synctest.Wait()
			if err := p.Validate(ctx, write(translation("n", "b", nil, chain(idA)), nil, ""), nil); (err != nil) != rejected {
				t.Errorf("%s: %v", what, err)
			}
			ref, _ := identify(chain(idA))
			p.Read(func(x *index) {
				if held := len(x.holdersOf(digestRef(ref))) > 0; held != rejected {
					t.Errorf("%s: index: held = %t", what, held)
				}
			})
		}
		judge("at first", false)
		events.Add(current)
		judge("created", true)
		events.Modify(translation("m", "a", nil, chain(idB)))
		judge("removed", false)
		events.Modify(current)
		judge("put in", true)
		events.Modify(deleting(current.DeepCopy()))
		judge("being deleted", false)
		events.Modify(current)
		judge("restored from a backup", true)
		events.Delete(current)
		judge("deleted", false)
		stop()
		synctest.Wait()
	})
}

// An outdated index rejects no valid request, and an unknown state allows none.
func TestValidateReadsTheHolder(t *testing.T) {
	p, client := serving(t, translation("m", "a", nil, chain(idA)))
	var now runtime.Object
	var failure error
	client.PrependReactor("get", "translations", func(clienttesting.Action) (bool, runtime.Object, error) { return true, now, failure })
	mine := translation("n", "pod.4.b", owned("1"), chain(idA))
	for name, tc := range map[string]struct {
		now     runtime.Object
		failure error
	}{
		"gone":             {nil, apierrors.NewNotFound(midonetv1.Resource("translations"), "a")},
		"without it":       {translation("m", "a", nil, chain(idB)), nil},
		"being deleted":    {deleting(translation("m", "a", nil, chain(idA))), nil},
		"with nothing yet": {translation("m", "a", nil), nil},
	} {
		now, failure = tc.now, tc.failure
		if err := p.Validate(t.Context(), write(mine, nil, ""), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	now, failure = nil, errors.New("the store is unavailable")
	if err := p.Validate(t.Context(), write(mine, nil, ""), nil); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "m/a: the store is unavailable") {
		t.Errorf("got %v", err)
	}
}

// Before the index is filled a request that adds something waits, and is rejected after a timeout; others are not blocked.
func TestValidateWaitsForTheIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		p.SetClient(fake.NewClientset())
		before := translation("n", "a", nil, chain(idA))
		for name, request := range map[string]admission.Attributes{
			"finalizer":  write(translation("n", "a", nil, chain(idA)), deleting(before.DeepCopy()), ""),
			"shrink":     write(translation("n", "a", nil), before, ""),
			"status":     write(translation("n", "a", nil, chain(idA), chain(idB)), before, "status"),
			"an empty":   write(translation("n", "a", nil), nil, ""),
			"a relabel":  write(translation("n", "a", global(), chain(idA)), before, ""),
			"other kind": admission.NewAttributesRecord(before, nil, midonetv1.SchemeGroupVersion.WithKind("Other"), "n", "a", midonetv1.SchemeGroupVersion.WithResource("others"), "", admission.Create, nil, false, nil),
		} {
			if err := p.Validate(t.Context(), request, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := p.Validate(t.Context(), write(before, nil, ""), nil); !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "retry") {
			t.Errorf("with no index: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Validate(ctx, write(before, nil, ""), nil); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("with no index and no client: %v", err)
		}
		result := make(chan error)
		go func() { result <- p.Validate(t.Context(), write(before, nil, ""), nil) }()
		synctest.Wait()
		stopped, stop := context.WithCancel(t.Context())
		defer stop()
		p.SetDrainedNotification(stopped.Done())
		if err := p.ValidateInitialization(); err != nil {
			t.Fatal(err)
		}
		if err := <-result; err != nil {
			t.Errorf("when the index was filled: %v", err)
		}
	})
}

func TestValidateInitialization(t *testing.T) {
	p := New()
	if err := p.ValidateInitialization(); err == nil {
		t.Error("it is content without a client")
	}
	p.SetClient(fake.NewClientset())
	if err := p.ValidateInitialization(); err == nil {
		t.Error("it is content without an end")
	}
	p.SetDrainedNotification(t.Context().Done())
	if err := p.ValidateInitialization(); err != nil {
		t.Error(err)
	}
	for operation, want := range map[admission.Operation]bool{admission.Create: true, admission.Update: true, admission.Delete: false, admission.Connect: false} {
		if p.Handles(operation) != want {
			t.Errorf("%s: handled %t, want %t", operation, p.Handles(operation), want)
		}
	}
	if err := p.Validate(t.Context(), write(&metav1.Status{}, nil, ""), nil); !apierrors.IsInternalError(err) {
		t.Errorf("what is no Translation: %v", err)
	}
	if err := p.Validate(t.Context(), write(translation("n", "a", nil), &metav1.Status{}, ""), nil); !apierrors.IsInternalError(err) {
		t.Errorf("what was no Translation: %v", err)
	}
}
