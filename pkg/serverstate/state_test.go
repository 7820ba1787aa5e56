// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package serverstate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func state(authorization string, renewed time.Duration) State {
	return State{ProjectAuthorization: authorization, Renewed: metav1.NewTime(noon.Add(renewed))}
}

// TestObserve checks that only changes count: the clock of a server may be years ahead.
func TestObserve(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	o := NewObserver(clock)
	ahead := 24 * 365 * time.Hour
	for _, step := range []struct {
		name   string
		after  time.Duration
		states map[string]State
		want   []string
	}{
		{"first seen", 0, map[string]State{"a": state("roles", 0), "b": state("membership", ahead)}, []string{"a roles", "b membership"}},
		{"one is renewed", Period, map[string]State{"a": state("roles", 0), "b": state("membership", ahead+Period)}, []string{"a roles", "b membership proven"}},
		{"almost expired", Expiry - time.Second, map[string]State{"a": state("roles", 0), "b": state("membership", ahead+Period)},
			[]string{"a roles", "b membership proven"}},
		{"one is expired", Expiry, map[string]State{"a": state("roles", 0), "b": state("membership", ahead+Expiry)}, []string{"b membership proven"}},
		{"it returns", Expiry + Period, map[string]State{"a": state("roles", Expiry), "b": state("membership", ahead+Expiry)},
			[]string{"a roles proven", "b membership proven"}},
		{"one has ended", Expiry + Period, map[string]State{"a": state("roles", Expiry)}, []string{"a roles proven"}},
		{"its name returns", Expiry + Period, map[string]State{"b": state("membership", ahead+Expiry)}, []string{"b membership"}},
	} {
		clock.SetTime(noon.Add(step.after))
		var got []string
		for _, server := range o.Observe(step.states) {
			text := server.Name + " " + server.ProjectAuthorization
			if server.Proven {
				text += " proven"
			}
			got = append(got, text)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: servers = %q, want %q", step.name, got, step.want)
		}
	}
}

func TestOf(t *testing.T) {
	text, err := Encode(state("roles", 0))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Of(map[string]string{"a": text})
	if err != nil || got["a"].ProjectAuthorization != "roles" || !got["a"].Renewed.Time.Equal(noon) {
		t.Errorf("states = %v, %v", got, err)
	}
	if got, err := Of(map[string]string{"a": text, "b": "roles"}); err == nil {
		t.Errorf("states = %v, want an error for a value that is no object", got)
	}
}

// TestPublish checks that each server writes its own key, and removes those of servers that were killed.
func TestPublish(t *testing.T) {
	client := fake.NewClientset()
	clock := clocktesting.NewFakeClock(noon)
	a, b := NewPublisher(client.CoreV1(), "a", "roles", clock), NewPublisher(client.CoreV1(), "b", "membership", clock)
	published := func(want ...string) {
		t.Helper()
		found, err := client.CoreV1().ConfigMaps(Namespace).Get(t.Context(), Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		states, err := Of(found.Data)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for server, state := range states {
			got = append(got, fmt.Sprintf("%s %s %s", server, state.ProjectAuthorization, state.Renewed.Sub(noon)))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("published %q, want %q", got, want)
		}
	}
	publish := func(p *Publisher) {
		t.Helper()
		if err := p.First(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	publish(a)
	publish(b)
	published("a roles 0s", "b membership 0s")
	clock.Step(discardAfter - time.Second)
	publish(b)
	publish(b)
	published("a roles 0s", "b membership 1m59s")
	clock.Step(time.Second)
	publish(b)
	published("b membership 2m0s")
	publish(a)
	published("a roles 2m0s", "b membership 2m0s")

	ended, end := context.WithCancel(t.Context())
	end()
	b.Run(ended)
	published("a roles 2m0s")
}

func TestFirstIsNotAllowed(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("patch", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("configmaps"), Name, errors.New("no RBAC"))
	})
	err := NewPublisher(client.CoreV1(), "a", "roles", clocktesting.NewFakeClock(noon)).First(t.Context())
	if err == nil || !strings.Contains(err.Error(), "apply the RBAC") {
		t.Errorf("error = %v, want the remedy", err)
	}
}
