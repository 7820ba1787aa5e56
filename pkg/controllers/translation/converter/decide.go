// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// plan is what a reconciliation does about the Translations of one owner.
type plan struct {
	// create are rewritten.
	create []*midonetv1.Translation
	// update are changed in place.
	update []update
	// taken have the name of a wanted one and are another client's.
	taken []*midonetv1.Translation
	// waiting conflict with a wanted one and are being deleted.
	waiting []*midonetv1.Translation
	// obstacles are stale Translations with a resource of a desired one, which the API server allows in one Translation only. They are
	// deleted after all other writes, and the desired one is created when they no longer exist.
	obstacles []*midonetv1.Translation
	// stale are of the version that is written now. Nothing that is wanted takes their resources over, so they are deleted after
	// the writes, whatever became of those: what is dead must not get traffic because something else conflicts.
	stale []*midonetv1.Translation
	// former are of another version. They are deleted when everything that is wanted is written, and has their resources.
	former []*midonetv1.Translation
	// withheld: something that is wanted is not written, because nothing is created for the owner any more.
	withheld bool
}

// update is a change of a Translation.
type update struct {
	current *midonetv1.Translation
	// patch is a merge patch that fails when the Translation is not in this state any more.
	patch []byte
	// inherits reports that the owner changes.
	inherits bool
}

// newPlan decides about the Translations of an owner. existing are those that its keys find and those that have the
// name of a wanted one, by name, all in the owner's namespace. Without creates, no Translation is created and none is given
// back to the owner; what such a one would take the place of stays, too.
func newPlan(owner convert.Owner, creates bool, wanted []midonetv1.Translation, existing map[string]*midonetv1.Translation) (plan, error) {
	var p plan
	names := map[string]bool{}
	for i := range wanted {
		names[wanted[i].Name] = true
	}
	unwanted := unwantedOf(owner, names, existing)
	holders := newHolders(owner, unwanted)
	obstacles, spared := map[*midonetv1.Translation]bool{}, map[*midonetv1.Translation]bool{}
	for i := range wanted {
		want := &wanted[i]
		current := existing[want.Name]
		switch {
		case current != nil && !current.DeletionTimestamp.IsZero():
			p.waiting = append(p.waiting, current)
			continue
		case current != nil && claimOf(owner, current) == foreign:
			p.taken = append(p.taken, current)
			continue
		case !creates && (current == nil || !isOwnedAs(current, want)):
			p.withheld = true
			for _, holder := range holders.of(want) {
				spared[holder] = true
			}
			continue
		}
		changes, err := changesOf(owner, current, want)
		if err != nil {
			return plan{}, err
		}
		if current != nil && len(changes) == 0 {
			continue
		}
		switch found := holders.of(want); {
		case len(found) > 0:
			for _, holder := range found {
				obstacles[holder] = true
			}
		case current == nil:
			p.create = append(p.create, want)
		default:
			p.update = append(p.update, update{current, changes, claimOf(owner, current) == inherited})
		}
	}
	for _, translation := range unwanted {
		switch {
		case spared[translation]:
		case obstacles[translation] && translation.DeletionTimestamp.IsZero():
			p.obstacles = append(p.obstacles, translation)
		case obstacles[translation]:
			p.waiting = append(p.waiting, translation)
		case !translation.DeletionTimestamp.IsZero():
		case isFormer(translation):
			p.former = append(p.former, translation)
		default:
			p.stale = append(p.stale, translation)
		}
	}
	return p, nil
}

// isFormer reports whether a Translation is of another version than those that are written now.
func isFormer(translation *midonetv1.Translation) bool {
	version, _ := midonetv1.VersionOf(translation.Name)
	return version != midonetv1.TranslationVersion
}

// unwantedOf returns the Translations of an owner that are not desired, sorted by name. A Translation with a name that no converter
// creates belongs to a user, whatever its label is.
func unwantedOf(owner convert.Owner, wanted map[string]bool, existing map[string]*midonetv1.Translation) []*midonetv1.Translation {
	var unwanted []*midonetv1.Translation
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		if _, made := midonetv1.VersionOf(name); made && !wanted[name] && claimOf(owner, existing[name]) != foreign {
			unwanted = append(unwanted, existing[name])
		}
	}
	return unwanted
}

// changesOf returns the merge patch that makes a Translation what it should be, nil when it is. Labels and fields of
// others stay.
func changesOf(owner convert.Owner, current, want *midonetv1.Translation) ([]byte, error) {
	if current == nil {
		return nil, nil
	}
	meta := map[string]any{}
	for label, value := range owner.Labels() {
		if has, ok := current.Labels[label]; !ok || has != value {
			meta["labels"] = map[string]string{label: value}
		}
	}
	if !isOwnedAs(current, want) {
		meta["ownerReferences"] = want.OwnerReferences
	}
	if !slices.Contains(current.Finalizers, midonetv1.FinalizerName) {
		meta["finalizers"] = append(slices.Clone(current.Finalizers), midonetv1.FinalizerName)
	}
	patch := map[string]any{"metadata": meta}
	if !slices.Equal(current.Resources, want.Resources) {
		patch["resources"] = want.Resources
	}
	if len(meta) == 0 && len(patch) == 1 {
		return nil, nil
	}
	meta["uid"], meta["resourceVersion"] = current.UID, current.ResourceVersion
	return json.Marshal(patch)
}

// isOwnedAs reports whether a Translation has the owner references that it should have.
func isOwnedAs(current, want *midonetv1.Translation) bool {
	return slices.EqualFunc(current.OwnerReferences, want.OwnerReferences, sameOwner)
}

// sameOwner reports whether two references are to one object. The flags of a reference are of no account here.
func sameOwner(a, b metav1.OwnerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID
}

// acts reports whether there is anything to write.
func (p *plan) acts() bool {
	return len(p.create)+len(p.update)+len(p.obstacles)+len(p.stale) > 0 || p.complete() && len(p.former) > 0
}

// complete reports whether everything that is wanted is there once the writes succeeded.
func (p *plan) complete() bool {
	return len(p.taken)+len(p.waiting)+len(p.obstacles) == 0 && !p.withheld
}

// inherits reports whether something of another owner is changed or deleted.
func (p *plan) inherits(owner convert.Owner) bool {
	theirs := func(t *midonetv1.Translation) bool { return claimOf(owner, t) == inherited }
	return slices.ContainsFunc(p.update, func(u update) bool { return u.inherits }) ||
		slices.ContainsFunc(slices.Concat(p.obstacles, p.stale), theirs) || p.complete() && slices.ContainsFunc(p.former, theirs)
}

// found returns the names of the existing Translations that the plan changes or deletes.
func (p *plan) found() []string {
	var names []string
	for _, u := range p.update {
		names = append(names, u.current.Name)
	}
	for _, translation := range slices.Concat(p.obstacles, p.stale, p.former) {
		names = append(names, translation.Name)
	}
	return names
}

// namesOf lists Translations in a message, the first few of them.
func namesOf(translations []*midonetv1.Translation) string {
	const most = 3
	var names []string
	for i, translation := range translations {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, translation.Name)
	}
	return strings.Join(names, ", ")
}
