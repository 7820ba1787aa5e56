// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/backendresource"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// holders are the unwanted Translations of an owner that keep others from having their resources. The API server lets
// a resource belong to one Translation, except while the owner changes from one version of Translations to another.
// The address of a tunnel's end is such a case: it is in the name of the Translation, but not in the id of the resource.
type holders struct {
	owner    convert.Owner
	unwanted []*midonetv1.Translation
	// by is filled when it is requested first: mostly nothing is unwanted, or nothing is to be written.
	by map[backendresource.Ref]*midonetv1.Translation
}

func newHolders(owner convert.Owner, unwanted []*midonetv1.Translation) *holders {
	return &holders{owner: owner, unwanted: unwanted}
}

// of returns the holders of the resources of a Translation, each once.
func (h *holders) of(want *midonetv1.Translation) []*midonetv1.Translation {
	if h.by == nil {
		h.by = map[backendresource.Ref]*midonetv1.Translation{}
		for _, translation := range h.unwanted {
			if h.yields(translation) {
				continue
			}
			for _, ref := range refsOf(translation) {
				h.by[ref] = translation
			}
		}
	}
	if len(h.by) == 0 {
		return nil
	}
	var found []*midonetv1.Translation
	seen := map[*midonetv1.Translation]bool{}
	for _, ref := range refsOf(want) {
		if holder := h.by[ref]; holder != nil && !seen[holder] {
			seen[holder] = true
			found = append(found, holder)
		}
	}
	return found
}

// yields reports whether the API server lets the resources of an unwanted Translation be in a wanted one at the same time.
func (h *holders) yields(unwanted *midonetv1.Translation) bool {
	version, _ := midonetv1.VersionOf(unwanted.Name)
	if version == midonetv1.TranslationVersion {
		return false
	}
	for label, value := range h.owner.Labels() {
		if has, ok := unwanted.Labels[label]; !ok || has != value {
			return false
		}
	}
	return true
}

// refsOf returns the references of the backend resources of a Translation. Invalid resources have none.
func refsOf(translation *midonetv1.Translation) []backendresource.Ref {
	refs := make([]backendresource.Ref, 0, len(translation.Resources))
	for _, listed := range translation.Resources {
		if ref, ok := backendresource.Of(listed); ok {
			refs = append(refs, ref.Identity())
		}
	}
	return refs
}
