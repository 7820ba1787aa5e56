// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// store is an API server with Translations, and a reconciler that writes to it. It rejects all reads, and all writes except those of a
// status and of finalizers.
type store struct {
	*kubetest.Server
	t *testing.T
	*reconciler
	recorder *events.FakeRecorder
	// fault is the error of the next write, if not nil.
	fault error
	now   time.Time
}

func newStore(t *testing.T, objects ...client.Object) *store {
	t.Helper()
	s := &store{Server: kubetest.New(t, objects...), t: t, recorder: events.NewFakeRecorder(100), now: start}
	s.Describe = func(w kubetest.Write) string {
		return map[string]string{"patch": "finalizers", "update status": "status"}[w.Verb] + " of " + w.Name
	}
	s.Fault = func(int, kubetest.Write) error {
		err := s.fault
		s.fault = nil
		return err
	}
	s.Reject = func(w kubetest.Write) error {
		if w.Verb != "update status" && (w.Verb != "patch" || !strings.Contains(w.Patch, `"uid":"`+string(w.Object.(client.Object).GetUID())+`"`)) {
			return fmt.Errorf("%s of %s: %s", w.Verb, w.Name, w.Patch)
		}
		return nil
	}
	s.ReadCache = func(string, runtime.Object) error { return errors.New("the reconciler reads nothing") }
	s.reconciler = &reconciler{client: s.Client(), recorder: s.recorder, checks: newDemand(), now: func() time.Time { return s.now }}
	return s
}

// read returns a Translation from the API server, nil if it does not exist.
func (s *store) read(name string) *midonetv1.Translation {
	s.t.Helper()
	tr := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if !s.Find(tr) {
		return nil
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
