// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// globalOwner is the owner of the Translations that have none. It is no uid.
const globalOwner = "global"

// resources are those of a Translation, which stays packed until they are needed.
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

// claimOf is a Translation, which is given in both forms, as the engine sees it.
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

// ownerOf is the same for all Translations of one object, whatever version made them, and empty for one that was not translated.
func ownerOf(translation *midonetv1.Translation) string {
	if _, global := translation.Labels[midonetv1.LabelGlobal]; global {
		return globalOwner
	}
	return translation.Labels[midonetv1.LabelOwnerUID]
}

// isCurrent reports whether a name is of the version that converters write now. A name without a version is of no earlier one.
func isCurrent(name string) bool {
	version, ok := midonetv1.VersionOf(name)
	return !ok || version == midonetv1.TranslationVersion
}
