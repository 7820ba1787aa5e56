// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const (
	// maxAnnotations is how long all annotations of an object together may be, with their keys, in bytes.
	maxAnnotations = 256 << 10
	// longRemovals is how long a record of removals may be as JSON, in bytes.
	longRemovals = 16 << 10
)

// removal is an element of a spec before references were removed from it. The element after the removal is not recorded, because it can be
// computed.
type removal struct {
	// Field and Index are where the element was. Single is set when it is no item of a list.
	Field  string `json:"field"`
	Index  int    `json:"index,omitempty"`
	Single bool   `json:"single,omitempty"`
	// Content is the element before the first removal.
	Content map[string]any `json:"content"`
	// Backends are those whose references were removed since.
	Backends []removedFrom `json:"backends"`
}

// removedFrom is what was removed from an element for one backend.
type removedFrom struct {
	Backend string      `json:"backend"`
	Time    metav1.Time `json:"time"`
	// Services are namespace/name, sorted.
	Services []string `json:"services"`
}

func (r *removal) names(backend string) bool {
	return slices.ContainsFunc(r.Backends, func(from removedFrom) bool { return from.Backend == backend })
}

func (r *removal) others(backend string) []removedFrom {
	return slices.DeleteFunc(slices.Clone(r.Backends), func(from removedFrom) bool { return from.Backend == backend })
}

// missing returns which Services of a backend do not exist, "" when all do.
func (r *removal) missing(backend string, exists func(types.NamespacedName) bool) string {
	for _, from := range r.Backends {
		for _, service := range from.Services {
			recorded := recordedRef(service)
			if from.Backend == backend && (recorded.foreign || !exists(recorded.service)) {
				return fmt.Sprintf("Service %s is not a copy from backend %s, or does not exist", service, backend)
			}
		}
	}
	return ""
}

// label names the element to users.
func (r *removal) label() string {
	if r.Single {
		return "spec." + r.Field
	}
	return fmt.Sprintf("spec.%s[%d]", r.Field, r.Index)
}

// without returns the element, in a route of a namespace, without the references of those of its backends for which of is true,
// or of all when that is nil; nil for nothing.
func (k *Kind) without(r *removal, namespace string, of func(removedFrom) bool) map[string]any {
	deleted := sets.New[string]()
	for _, from := range r.Backends {
		if of == nil || of(from) {
			deleted.Insert(from.Services...)
		}
	}
	left, _ := k.flavor.strip(r.Field, runtime.DeepCopyJSON(r.Content), namespace, func(service types.NamespacedName) bool {
		return deleted.Has(service.String())
	})
	return left
}

// record adds elements to the record of a route. It reports false when the record would be too long.
func (k *Kind) record(object *unstructured.Unstructured, elements []element, to Removal) bool {
	removals, err := readRemovals(object)
	if err != nil {
		removals = nil // a record that cannot be read restores nothing, and is replaced
	}
	for _, e := range elements {
		from := removedFrom{Backend: to.Backend, Time: metav1.NewTime(to.Time.UTC().Truncate(time.Second))}
		for service := range e.services {
			from.Services = append(from.Services, service.String())
		}
		slices.Sort(from.Services)
		i := slices.IndexFunc(removals, func(r removal) bool {
			return r.Field == e.field && same(k.without(&r, object.GetNamespace(), nil), e.content)
		})
		if i < 0 {
			removals = append(removals, removal{
				Field: e.field, Index: e.index, Single: isSingle(e.field), Content: e.content, Backends: []removedFrom{from},
			})
			continue
		}
		removals[i].add(from)
	}
	return writeRemovals(object, removals)
}

// add adds what was removed for a backend, perhaps once more.
func (r *removal) add(from removedFrom) {
	for i := range r.Backends {
		if had := &r.Backends[i]; had.Backend == from.Backend {
			had.Services = sets.List(sets.New(had.Services...).Insert(from.Services...))
			had.Time = from.Time
			return
		}
	}
	r.Backends = append(r.Backends, from)
}

// same reports whether two values are the same as JSON, in which numbers have one form.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func isSingle(field string) bool { return field == listTCPProxy || field == fieldDefaultBackend }

var errRemovalsDamaged = errors.New("annotation " + gimbalv1.AnnotationRemovedReferences + " is damaged")

// readRemovals reads the record of a route, nil when it has none.
func readRemovals(object *unstructured.Unstructured) ([]removal, error) {
	annotation := object.GetAnnotations()[gimbalv1.AnnotationRemovedReferences]
	if annotation == "" {
		return nil, nil
	}
	text, err := plain(annotation)
	if err != nil {
		return nil, errRemovalsDamaged
	}
	var removals []removal
	if err := utiljson.Unmarshal(text, &removals); err != nil {
		return nil, errRemovalsDamaged
	}
	for i := range removals {
		if removals[i].Content == nil || len(removals[i].Backends) == 0 {
			return nil, errRemovalsDamaged
		}
	}
	return removals, nil
}

// writeRemovals writes the record of a route. When it is too long, none is written, and it reports false.
func writeRemovals(object *unstructured.Unstructured, removals []removal) bool {
	annotateRemovals(object, "")
	if len(removals) == 0 {
		return true
	}
	text, err := json.Marshal(removals)
	if err != nil {
		return false
	}
	record := string(text)
	if len(record) > longRemovals {
		if record, err = compress(text); err != nil {
			return false
		}
	}
	length := len(gimbalv1.AnnotationRemovedReferences) + len(record)
	for key, value := range object.GetAnnotations() {
		length += len(key) + len(value)
	}
	// Weights that are recorded later need their place, too.
	if len(text) > maxPlain || length > maxAnnotations*3/4 {
		return false
	}
	annotateRemovals(object, record)
	return true
}

func annotateRemovals(object *unstructured.Unstructured, record string) {
	annotate(object.Object, gimbalv1.AnnotationRemovedReferences, record)
}

// HasRemoved reports whether a route has a record of references that were removed for a backend, or one that cannot be read.
func HasRemoved(object *unstructured.Unstructured, backend string) bool {
	removals, err := readRemovals(object)
	return err != nil || slices.ContainsFunc(removals, func(r removal) bool { return r.names(backend) })
}

// RemovedSince returns since when the oldest references of an annotation have been removed; the zero time when there is no
// annotation. One that cannot be read is as old as can be.
func RemovedSince(annotation string) (since time.Time, recorded bool) {
	if annotation == "" {
		return time.Time{}, false
	}
	object := &unstructured.Unstructured{Object: map[string]any{}}
	annotateRemovals(object, annotation)
	removals, err := readRemovals(object)
	if err != nil {
		return time.Time{}, true
	}
	for _, r := range removals {
		for _, from := range r.Backends {
			if !recorded || from.Time.Time.Before(since) {
				since, recorded = from.Time.Time, true
			}
		}
	}
	return since, recorded
}
