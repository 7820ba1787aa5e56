// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

const (
	chainID  = "23b6f94b-2fb5-55b0-9614-3cbb6d6dc17f"
	preID    = "901ce55e-dc0c-5ad7-991e-1e28f72223e9"
	bridgeID = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
	portID   = "430a6186-91cf-5c7a-8443-44319822637a"
	ruleID   = "cb870299-065d-5c6f-9c84-d461359e315e"
	rule2ID  = "95992d5c-f2b0-54e9-a6e0-39ca6ba2e5b8"
)

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// translation returns a Translation with Groundskeeper's finalizer.
func translation(name string, resources ...midonetv1.BackendResource) *midonetv1.Translation {
	return &midonetv1.Translation{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("uid-of-" + name), Generation: 1,
			CreationTimestamp: metav1.NewTime(start.Add(-time.Hour)),
			Finalizers:        []string{midonetv1.FinalizerName},
		},
		Resources: resources,
	}
}

// pack returns a Translation in its cached form.
func pack(t *testing.T, tr *midonetv1.Translation) *packed.Translation {
	t.Helper()
	kept, err := packed.Pack(tr)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func chain(id, name string) midonetv1.BackendResource {
	return midonetv1.BackendResource{Kind: "Chain", Body: `{"id":"` + id + `","tenantId":"midonetkube","name":"` + name + `"}`}
}

func bridge() midonetv1.BackendResource {
	return midonetv1.BackendResource{Kind: "Bridge", Body: `{"id":"` + bridgeID + `","tenantId":"midonetkube","name":"node-a","inboundFilterId":"` + chainID + `"}`}
}

func port() midonetv1.BackendResource {
	return midonetv1.BackendResource{Kind: "Port", Parent: bridgeID, Body: `{"id":"` + portID + `","type":"Bridge"}`}
}

func rule(id, action string) midonetv1.BackendResource {
	return midonetv1.BackendResource{Kind: "Rule", Parent: chainID, Body: `{"id":"` + id + `","type":"` + action + `"}`}
}
