// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backendresources

import (
	"crypto/sha256"
	"slices"
	"strings"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/backendresource"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// digest stands for something with a longer name.
type digest [16]byte

// digestOf returns the digest of what these words name together. Only the last word may have a zero byte in it.
func digestOf(words ...string) digest {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return digest(sum[:len(digest{})])
}

// holder is what the rule has to know of a Translation.
type holder struct {
	namespace, name string
	// owner is the same for all Translations of one owner in one namespace; zero for one without an owner.
	owner digest
	// resources are the backend resources that it holds: none while it is being deleted.
	resources []digest
}

func holderOf(t *midonetv1.Translation) holder {
	// Namespaces are few, Translations many: they share the string.
	h := holder{namespace: kit.Intern(t.Namespace), name: t.Name}
	if _, global := t.Labels[midonetv1.LabelGlobal]; global {
		h.owner = digestOf("global", t.Namespace)
	} else if uid := t.Labels[midonetv1.LabelOwnerUID]; uid != "" {
		h.owner = digestOf("owner", t.Namespace, uid)
	}
	if t.DeletionTimestamp != nil {
		return h
	}
	h.resources = make([]digest, 0, len(t.Resources))
	for _, resource := range t.Resources {
		if ref, ok := identify(resource); ok {
			h.resources = append(h.resources, digestRef(ref))
		}
	}
	return h
}

// is reports whether both are the same Translation.
func (h holder) is(other holder) bool { return h.namespace == other.namespace && h.name == other.name }

func (h holder) holds(resource digest) bool { return slices.Contains(h.resources, resource) }

// takesOver reports whether h may hold what the other one holds: when the version in their names changes, the
// Translations of an owner take its backend resources from those of the other version.
func (h holder) takesOver(other holder) bool {
	if h.owner == (digest{}) || h.owner != other.owner {
		return false
	}
	version, ok := midonetv1.VersionOf(h.name)
	otherVersion, otherOK := midonetv1.VersionOf(other.name)
	return ok && otherOK && version != otherVersion
}

// claim is a backend resource that a request adds to a Translation.
type claim struct {
	// index is its place in resources.
	index int
	ref   backendresource.Ref
	digest
}

// claims returns the backend resources of a Translation that are not in the old one, which may be nil. Resources that an update does not
// change are not checked again, because an existing conflict must not block its resolution.
func claims(t, old *midonetv1.Translation) []claim {
	if old != nil && slices.Equal(t.Resources, old.Resources) { // as for most updates: bodies are not parsed for nothing
		return nil
	}
	had := map[digest]bool{}
	if old != nil {
		for _, resource := range old.Resources {
			if ref, ok := identify(resource); ok {
				had[digestRef(ref)] = true
			}
		}
	}
	var added []claim
	for i, resource := range t.Resources {
		if ref, ok := identify(resource); ok && !had[digestRef(ref)] {
			added = append(added, claim{index: i, ref: ref, digest: digestRef(ref)})
		}
	}
	return added
}

// identify returns what the backend knows a resource by, false for one that no backend can have.
func identify(resource midonetv1.BackendResource) (backendresource.Ref, bool) {
	ref, ok := backendresource.Of(resource)
	return ref.Identity(), ok
}

func digestRef(ref backendresource.Ref) digest { return digestOf(ref.Kind, ref.Parent, ref.ID) }
