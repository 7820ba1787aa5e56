// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// It keeps what events are related to. Events about the same, for the same reason, count as one.
type reported map[corev1.ObjectReference]string

func (r reported) Eventf(_, related runtime.Object, _, reason, _, _ string, args ...any) {
	about, _ := related.(*corev1.ObjectReference)
	r[*about] = reason + ": " + args[0].(string)
}

// TestLeftoverEvents checks that each leftover resource has its own event, which is retained.
func TestLeftoverEvents(t *testing.T) {
	meters, err := NewMeters(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	events := reported{}
	r := &reconciler{recorder: events, meters: meters}
	left := []kubernikusv1.DeorbitObject{
		{Kind: "LoadBalancer", Name: "web", ID: "1", Reason: "status PENDING_UPDATE"}, {Kind: "LoadBalancer", Name: "web", ID: "2"},
		{Kind: "Project", ID: "p"}, {Kind: "Service", Namespace: "shop", Name: "web"},
	}
	r.reportLeftovers(t.Context(), &kubernikusv1.Kluster{}, &state{progress: progress{DeorbitStatus: kubernikusv1.DeorbitStatus{Remaining: left}}})
	if len(events) != len(left) {
		t.Errorf("events %v", events)
	}
	for about, text := range events {
		if !strings.HasPrefix(text, eventLeftover+": left over: "+about.Kind) {
			t.Errorf("%v: %s", about, text)
		}
	}
}
