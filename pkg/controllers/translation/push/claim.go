// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// globalOwner is the owner of Translations without one. It is not a uid.
const globalOwner = "global"

// resources are the resources of a Translation, which stays packed until they are needed.
type resources struct{ *packed.Translation }

// List implements engine.Items.
func (r resources) List() []backend.Item {
	wanted := r.Resources()
	items := make([]backend.Item, len(wanted))
	for i, resource := range wanted {
		items[i] = backend.Item{Kind: resource.Kind, Parent: resource.Parent, Body: resource.Body}
	}
	return items
}

// claimOf converts a Translation, given in both forms, to the engine's Claim.
func claimOf(kept *packed.Translation, translation *midonetv1.Translation) engine.Claim {
	claim := engine.Claim{
		Name:     kept.Key(),
		UID:      translation.UID,
		Created:  translation.CreationTimestamp.Time,
		Owner:    ownerOf(translation),
		Current:  isCurrent(translation.Name),
		Deleting: !translation.DeletionTimestamp.IsZero(),
		Items:    resources{kept},
		Pushed:   make([]engine.Pushed, len(translation.Status.Resources)),
	}
	for i := range translation.Status.Resources {
		pushed := &translation.Status.Resources[i]
		claim.Pushed[i] = engine.Pushed{
			Kind: pushed.Kind, Parent: pushed.Parent, ID: pushed.ID,
			State: engine.State(pushed.State), Hash: pushed.BodyHash, Code: int(pushed.HTTPStatus), Message: pushed.Message,
		}
	}
	return claim
}

// ownerOf returns the owner that all Translations of one object share, whatever version created them; empty for a Translation that
// no converter created.
func ownerOf(translation *midonetv1.Translation) string {
	if _, global := translation.Labels[midonetv1.LabelGlobal]; global {
		return globalOwner
	}
	return translation.Labels[midonetv1.LabelOwnerUID]
}

// isCurrent reports whether a name has the version that converters currently write. A name without a version counts as current.
func isCurrent(name string) bool {
	version, ok := midonetv1.VersionOf(name)
	return !ok || version == midonetv1.TranslationVersion
}
