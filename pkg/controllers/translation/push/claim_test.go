// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

func TestClaimOf(t *testing.T) {
	full := translation("pod.4.web-0", port())
	full.Labels = map[string]string{midonetv1.LabelOwnerUID: "pod-uid"}
	full.Status.Resources = []midonetv1.BackendResourceStatus{{
		Kind: "Port", Parent: bridgeID, ID: portID, State: midonetv1.BackendResourceFailed, BodyHash: "abc", HTTPStatus: 409, Message: "taken",
		LastTransitionTime: new(metav1.NewTime(start)),
	}}
	want := engine.Claim{
		Name: types.NamespacedName{Namespace: "default", Name: "pod.4.web-0"}, UID: full.UID, Created: full.CreationTimestamp.Time,
		Owner: "pod-uid", Current: true,
		Pushed: []engine.Pushed{{Kind: "Port", Parent: bridgeID, ID: portID, State: engine.Failed, Hash: "abc", Code: 409, Message: "taken"}},
	}
	claim := claimOf(pack(t, full), full)
	if diff := cmp.Diff([]backend.Item{{Kind: "Port", Parent: bridgeID, Body: port().Body}}, claim.Items.List()); diff != "" {
		t.Error(diff)
	}
	claim.Items = nil
	if diff := cmp.Diff(want, claim); diff != "" {
		t.Error(diff)
	}
	for name, tc := range map[string]struct {
		name     string
		edit     func(*midonetv1.Translation)
		owner    string
		current  bool
		deleting bool
	}{
		"of no client":      {"pod.4.a", func(*midonetv1.Translation) {}, "", true, false},
		"of the cluster":    {"midonet-global.4.chain", func(tr *midonetv1.Translation) { tr.Labels = map[string]string{midonetv1.LabelGlobal: ""} }, "global", true, false},
		"of an old version": {"pod.3.a", func(*midonetv1.Translation) {}, "", false, false},
		"of no version":     {"by-hand", func(*midonetv1.Translation) {}, "", true, false},
		"being deleted":     {"pod.4.a", func(tr *midonetv1.Translation) { tr.DeletionTimestamp = new(metav1.NewTime(start)) }, "", true, true},
	} {
		tr := translation(tc.name)
		tc.edit(tr)
		if got := claimOf(pack(t, tr), tr); got.Owner != tc.owner || got.Current != tc.current || got.Deleting != tc.deleting {
			t.Errorf("%s: owner %q, current %v, deleting %v", name, got.Owner, got.Current, got.Deleting)
		}
	}
}

// TestStates checks that each state of the engine is also a state of the API, with the same name.
func TestStates(t *testing.T) {
	for own, theirs := range map[engine.State]midonetv1.BackendResourceState{
		engine.Pending:       midonetv1.BackendResourcePending,
		engine.Synced:        midonetv1.BackendResourceSynced,
		engine.Drifted:       midonetv1.BackendResourceDrifted,
		engine.Failed:        midonetv1.BackendResourceFailed,
		engine.Deleting:      midonetv1.BackendResourceDeleting,
		engine.NotApplicable: midonetv1.BackendResourceNotApplicable,
	} {
		if string(own) != string(theirs) {
			t.Errorf("%s is %s", own, theirs)
		}
	}
}
