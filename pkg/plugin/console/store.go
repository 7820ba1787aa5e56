// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// maxFinished is how many Klusters are remembered that were deorbited while the console ran.
const maxFinished = 50

// store has what the page lists: of each object its name, age and state, and of those with findings the object, because findings
// contain durations. All other data about an object is read when it is requested.
type store struct {
	options Options

	mu       sync.Mutex
	kinds    map[string]*content // by title
	health   *report.Report
	others   *report.Report
	finished []Finished
	// stageTimeout is that of Deorbit in the configuration, nil if it is unknown.
	stageTimeout atomic.Pointer[metav1.Duration]
	// subscribers are the pages.
	subscribers map[*subscription]struct{}
}

// content is what is known of a kind.
type content struct {
	Kind
	// loaded reports that the kind was listed.
	loaded bool
	// absent reports that the cluster does not serve it.
	absent bool
	// err is the last failure, and since when there was no success.
	err     error
	since   time.Time
	objects map[types.NamespacedName]*entry
}

// entry is what is cached of an object.
type entry struct {
	state   string
	created time.Time
	// title is the name in words of a Translation, uid that of an object without a namespace.
	title string
	uid   types.UID
	// row is what the page lists, and object what it is computed from; nil without findings.
	row    *Row
	object client.Object
	stages stages
}

// Row is an object with findings.
type Row struct {
	// Key is the path of the object on the page: kind/namespace/name.
	Key       string `json:"key"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Since is when the object changed its state last.
	Since    time.Time        `json:"since"`
	Findings []report.Finding `json:"findings"`
	// Docs is the page of the documentation about them.
	Docs    string   `json:"docs"`
	Deorbit *Deorbit `json:"deorbit,omitempty"`
	RouteGC *RouteGC `json:"routeGC,omitempty"`
}

// Finished is a Kluster that was deleted while the console ran.
type Finished struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	At        time.Time `json:"at"`
	Deorbit   *Deorbit  `json:"deorbit"`
}

func newStore(o Options) *store {
	s := &store{options: o, kinds: map[string]*content{}, subscribers: map[*subscription]struct{}{}}
	for _, k := range o.Kinds {
		s.kinds[k.Title] = &content{Kind: k, objects: map[types.NamespacedName]*entry{}}
	}
	return s
}

// set caches an object that was created or changed.
func (s *store) set(title string, object client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(s.kinds[title], object)
}

func (s *store) setLocked(k *content, object client.Object) {
	name := client.ObjectKeyFromObject(object)
	e := k.objects[name]
	if e == nil {
		e = &entry{}
		k.objects[name] = e
	} else if e.object != nil && e.object.GetUID() != object.GetUID() {
		e.stages = nil
	}
	e.state, e.created, e.title, e.object = stateOf(object), object.GetCreationTimestamp().Time, titleOf(object), object
	if k.Global {
		e.uid = object.GetUID()
	}
	if kluster, ok := object.(*kubernikusv1.Kluster); ok {
		e.stages = e.stages.observe(kluster)
	}
	s.render(k, e)
	if e.object != nil {
		// A reference to an item of a list would keep the whole page in memory.
		e.object = object.DeepCopyObject().(client.Object)
	}
	s.changed(keyOf(k.Kind, name))
}

// render computes the row of an object, and drops the object when there is none.
func (s *store) render(k *content, e *entry) {
	now := s.options.Clock.Now()
	findings := k.Findings(e.object, now)
	if len(findings) == 0 {
		e.row, e.object = nil, nil
		return
	}
	name := client.ObjectKeyFromObject(e.object)
	e.row = &Row{Key: keyOf(k.Kind, name), Kind: k.Title, Namespace: name.Namespace, Name: name.Name, Since: changedAt(e.object),
		Findings: findings, Docs: docsOf(e.object)}
	if kluster, ok := e.object.(*kubernikusv1.Kluster); ok {
		e.row.Deorbit, e.row.RouteGC = s.deorbitOf(kluster, e.stages), routeGCOf(kluster)
	}
}

// remove discards an object that was deleted.
func (s *store) remove(title string, object client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, name := s.kinds[title], client.ObjectKeyFromObject(object)
	if kluster, ok := object.(*kubernikusv1.Kluster); ok && kluster.Status.Deorbit != nil {
		var seen stages
		if e := k.objects[name]; e != nil {
			seen = e.stages
		}
		s.finished = append(s.finished, Finished{Namespace: name.Namespace, Name: name.Name, At: s.options.Clock.Now(),
			Deorbit: deorbitOf(kluster, seen.observe(kluster))})
		s.finished = s.finished[max(0, len(s.finished)-maxFinished):]
	}
	delete(k.objects, name)
	s.changed(keyOf(k.Kind, name))
}

// listing caches the objects of a list, page by page.
type listing struct {
	store  *store
	kind   *content
	listed map[types.NamespacedName]bool
}

// list begins a list of a kind. Objects that are not in it are removed at its end.
func (s *store) list(title string) *listing {
	return &listing{store: s, kind: s.kinds[title], listed: map[types.NamespacedName]bool{}}
}

// add caches the objects of a page.
func (l *listing) add(page []client.Object) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	for _, object := range page {
		l.listed[client.ObjectKeyFromObject(object)] = true
		l.store.setLocked(l.kind, object)
	}
}

// done ends the list.
func (l *listing) done() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	for name := range l.kind.objects {
		if !l.listed[name] {
			delete(l.kind.objects, name)
			l.store.changed(keyOf(l.kind.Kind, name))
		}
	}
	l.kind.loaded = true
	l.store.reachedLocked(l.kind)
}

// reached records that the server responds.
func (s *store) reached(title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reachedLocked(s.kinds[title])
}

func (s *store) reachedLocked(k *content) {
	k.err, k.since, k.absent = nil, time.Time{}, false
	s.changed("")
}

// failed records why a kind could not be read. What a user is no longer allowed to list is discarded.
func (s *store) failed(title string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[title]
	if k.err == nil {
		k.since = s.options.Clock.Now()
	}
	k.err, k.absent = err, meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
	if k.absent || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		for name := range k.objects {
			s.changed(keyOf(k.Kind, name))
		}
		clear(k.objects)
		k.loaded = false
	}
	s.changed("")
}

// age updates the durations in findings.
func (s *store) age() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		for name, e := range k.objects {
			if e.object == nil {
				continue
			}
			before := e.row
			s.render(k, e)
			if e.row == nil || !slices.Equal(before.Findings, e.row.Findings) {
				s.changed(keyOf(k.Kind, name))
			}
		}
	}
}

// keyOf returns the path of an object on the page.
func keyOf(k Kind, name types.NamespacedName) string {
	return fmt.Sprintf("%s/%s/%s", k.Name, name.Namespace, name.Name)
}
