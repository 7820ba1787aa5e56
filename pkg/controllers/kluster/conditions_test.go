// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestApplyStatus checks that a patch has what a status has, and no empty field: it would take the field from another client.
func TestApplyStatus(t *testing.T) {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "k", UID: "u"}}
	const head = `{"kind":"Kluster","apiVersion":"kubernikus.sap.cc/v1","metadata":{"name":"k","namespace":"garden","uid":"u"},"status":`
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
	for name, tc := range map[string]struct {
		status kubernikusv1.KlusterStatus
		want   string
	}{
		"nothing": {kubernikusv1.KlusterStatus{}, `{}}`},
		"a condition": {kubernikusv1.KlusterStatus{Conditions: []metav1.Condition{{Type: "A", Status: "True", Reason: "B", LastTransitionTime: at}}},
			`{"conditions":[{"type":"A","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"B","message":""}]}}`},
		"parts": {kubernikusv1.KlusterStatus{Openstack: &kubernikusv1.OpenstackStatus{Region: "r"}, RouteGC: &kubernikusv1.RouteGCStatus{
			OrphanCount: 1, Orphans: []kubernikusv1.OrphanedRoute{{Destination: "d", NextHop: "h", Since: &at}}}},
			`{"openstack":{"region":"r"},"routeGC":{"orphanCount":1,"orphans":[{"destination":"d","nextHop":"h","since":"2026-01-02T03:04:05Z"}]}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := json.Marshal(ApplyStatus(k, tc.status)); err != nil || string(got) != head+tc.want {
				t.Errorf("patch = %s, %v, want %s", got, err, head+tc.want)
			}
		})
	}
}
