// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// kindEndpoints is the kind that owned the Translations of endpoints before, in midonet-kube-controllers.
const kindEndpoints = "Endpoints"

// claim is the relation of a Translation to one owner.
type claim int

const (
	// foreign: it is another client's, or of no known owner. It is neither changed nor deleted.
	foreign claim = iota
	// owned: it names this very owner.
	own
	// inherited: it names an earlier owner of the same kind and name, or the Endpoints of a Service, that it is taken
	// over from.
	inherited
)

// claimOf returns the relation of a Translation to an owner. The label decides, and without a label the owner reference. A
// Translation whose label and owner reference contradict each other is not changed.
func claimOf(owner convert.Owner, translation *midonetv1.Translation) claim {
	uid, labelled := translation.Labels[midonetv1.LabelOwnerUID]
	_, global := translation.Labels[midonetv1.LabelGlobal]
	switch {
	case owner.Kind == "":
		if global && !labelled {
			return own
		}
		return foreign
	case global || labelled && uid == "":
		return foreign
	case uid == string(owner.UID):
		return own
	case len(translation.OwnerReferences) != 1:
		return foreign
	}
	ref := translation.OwnerReferences[0]
	switch {
	case labelled && uid != string(ref.UID):
		return foreign
	case ref.UID == owner.UID:
		return own
	case ownsAs(ref, owner.Kind, owner.Name), owner.Kind == convert.KindService && ownsAs(ref, kindEndpoints, owner.Name):
		return inherited
	default:
		return foreign
	}
}

// Keys of the index of Translations by owner.
const globalKey = "global"

func uidKey(uid types.UID) string        { return "uid/" + string(uid) }
func endpointsKey(service string) string { return "endpoints/" + service }

// translationKeys returns the keys by which an owner finds its Translations. Those of one that was recreated are found by
// their names, which are the same.
func translationKeys(translation metav1.Object) []string {
	var keys []string
	uid, labelled := translation.GetLabels()[midonetv1.LabelOwnerUID]
	if labelled {
		keys = append(keys, uidKey(types.UID(uid)))
	}
	if _, global := translation.GetLabels()[midonetv1.LabelGlobal]; global {
		keys = append(keys, globalKey)
	}
	for _, ref := range translation.GetOwnerReferences() {
		if ownsAs(ref, kindEndpoints, ref.Name) {
			keys = append(keys, endpointsKey(ref.Name))
		}
		if !labelled {
			keys = append(keys, uidKey(ref.UID))
		}
	}
	return keys
}

// keysOf returns the keys by which the Translations of an owner are found.
func keysOf(owner convert.Owner) []string {
	switch owner.Kind {
	case "":
		return []string{globalKey}
	case convert.KindService:
		return []string{uidKey(owner.UID), endpointsKey(owner.Name)}
	default:
		return []string{uidKey(owner.UID)}
	}
}
