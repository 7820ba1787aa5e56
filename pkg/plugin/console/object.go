// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// reader reads what the page requests.
type reader struct {
	Options
	client  client.Client
	store   *store
	traffic *traffic
}

// Object is everything about one object.
type Object struct {
	Key       string     `json:"key"`
	Kind      string     `json:"kind"`
	Namespace string     `json:"namespace,omitempty"`
	Name      string     `json:"name"`
	Title     string     `json:"title,omitempty"`
	State     string     `json:"state,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
	// Findings are those of "why", with Problems if there may be others.
	Findings   []report.Finding `json:"findings"`
	Problems   []string         `json:"problems,omitempty"`
	Docs       string           `json:"docs"`
	Conditions []Condition      `json:"conditions"`
	// Events are the newest ones, with EventsProblem if they are unknown.
	Events        []Event      `json:"events"`
	EventsProblem string       `json:"eventsProblem,omitempty"`
	Project       *Project     `json:"project,omitempty"`
	Deorbit       *Deorbit     `json:"deorbit,omitempty"`
	RouteGC       *RouteGC     `json:"routeGC,omitempty"`
	Backend       *Backend     `json:"backend,omitempty"`
	Resources     []BackendRef `json:"resources,omitempty"`
	// Owner is the object that a Translation was made of.
	Owner   *Owner  `json:"owner,omitempty"`
	Actions []Offer `json:"actions,omitempty"`
}

// Owner is an object of Kubernetes.
type Owner struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Event is an event about an object.
type Event struct {
	Warning bool      `json:"warning"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count"`
	At      time.Time `json:"at"`
}

// Backend is the state of a DiscoveryBackend.
type Backend struct {
	Type          string   `json:"type"`
	ClusterStatus string   `json:"clusterStatus"`
	Services      *int32   `json:"services,omitempty"`
	Endpoints     *int32   `json:"endpoints,omitempty"`
	Matching      int32    `json:"matching"`
	Drained       int32    `json:"drained"`
	Alone         int32    `json:"alone"`
	AloneNames    []string `json:"aloneNames,omitempty"`
}

// BackendRef is a resource of a Translation in the backend network.
type BackendRef struct {
	Kind    string `json:"kind"`
	ID      string `json:"id,omitempty"`
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
}

// maxEvents is how many events of an object are shown.
const maxEvents = 50

// object reads an object and what is shown beside it.
func (r *reader) object(ctx context.Context, k Kind, name client.ObjectKey) (*Object, error) {
	object := k.Object()
	if err := r.client.Get(ctx, name, object); err != nil {
		return nil, err
	}
	view := &Object{
		Key: keyOf(k, name), Kind: k.Title, Namespace: name.Namespace, Name: name.Name, Title: titleOf(object), State: stateOf(object),
		CreatedAt: object.GetCreationTimestamp().Time, Conditions: conditionsOf(object),
		Actions: r.offers(k, object), Docs: docsOf(object),
	}
	why, err := k.Why(ctx, object)
	view.Findings = why.Findings
	for _, c := range why.Checked {
		if c.Problem != "" {
			view.Problems = append(view.Problems, c.Problem)
		}
	}
	if err != nil {
		view.Problems = append(view.Problems, report.OneLine(r.Explain(err).Error()))
	}
	if t := object.GetDeletionTimestamp(); t != nil {
		view.DeletedAt = new(t.Time)
	}
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		view.Project = r.project(ctx, o)
	case *kubernikusv1.Kluster:
		view.Deorbit, view.RouteGC = r.store.deorbitOf(o, r.store.stagesOf(k.Title, name).observe(o)), routeGCOf(o)
	case *gimbalv1.DiscoveryBackend:
		view.Backend = backendOf(o)
	case *midonetv1.Translation:
		view.Owner = ownerOf(o)
		for _, s := range o.Status.Resources {
			view.Resources = append(view.Resources, BackendRef{s.Kind, s.ID, string(s.State), s.Message})
		}
	}
	view.Events, view.EventsProblem = r.events(ctx, object)
	return view, nil
}

// stagesOf returns the stages of a Deorbit that were observed.
func (s *store) stagesOf(title string, name client.ObjectKey) stages {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.kinds[title].objects[name]; e != nil {
		return e.stages
	}
	return nil
}

// events reads the newest events of an object. Those of an object without a namespace are in the namespace default.
func (r *reader) events(ctx context.Context, object client.Object) ([]Event, string) {
	var list corev1.EventList
	namespace := cmp.Or(object.GetNamespace(), "default")
	err := r.client.List(ctx, &list, client.InNamespace(namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.uid", string(object.GetUID()))})
	if err != nil {
		return []Event{}, r.unknown(err, "list events in namespace "+namespace)
	}
	events := []Event{}
	for _, e := range list.Items {
		events = append(events, eventOf(&e))
	}
	slices.SortFunc(events, func(a, b Event) int { return b.At.Compare(a.At) })
	return events[:min(maxEvents, len(events))], ""
}

// eventOf reads an event of either of the two APIs for events.
func eventOf(e *corev1.Event) Event {
	one := Event{Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: e.Message, Count: max(1, e.Count),
		At: e.LastTimestamp.Time}
	if e.Series != nil {
		one.Count, one.At = e.Series.Count, e.Series.LastObservedTime.Time
	}
	if one.At.IsZero() {
		one.At = e.EventTime.Time
	}
	if one.At.IsZero() {
		one.At = e.CreationTimestamp.Time
	}
	return one
}

// unknown is why something could not be read.
func (r *reader) unknown(err error, what string) string {
	if apierrors.IsForbidden(err) {
		return "you are not allowed to " + what
	}
	return fmt.Sprintf("cannot %s: %v", what, r.Explain(err))
}

// project adds to a Project what its namespace contains.
func (r *reader) project(ctx context.Context, p *gardenerv1beta1.Project) *Project {
	view := projectOf(p)
	if view.Namespace == "" {
		return view
	}
	var quotas corev1.ResourceQuotaList
	if err := r.client.List(ctx, &quotas, client.InNamespace(view.Namespace)); err != nil {
		view.QuotasProblem = r.unknown(err, "list resource quotas in namespace "+view.Namespace)
	}
	view.Quotas = quotasOf(quotas.Items)
	view.Contents = r.store.contents(view.Namespace)
	return view
}

// contents counts the objects in a namespace.
func (s *store) contents(namespace string) []Contents {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Contents{}
	for _, k := range s.options.Kinds {
		c := s.kinds[k.Title]
		if k.Global || c.absent {
			continue
		}
		one := Contents{Kind: k.Title, Problem: s.problem(c)}
		if s.options.Namespace != "" && s.options.Namespace != namespace {
			one.Problem = "the console lists only namespace " + s.options.Namespace
		}
		for name := range c.objects {
			if name.Namespace == namespace {
				one.Count++
			}
		}
		all = append(all, one)
	}
	return all
}

func backendOf(b *gimbalv1.DiscoveryBackend) *Backend {
	view := &Backend{Type: string(b.Cluster.Type), ClusterStatus: string(b.Cluster.ClusterStatus), Services: b.Status.Services,
		Endpoints: b.Status.Endpoints}
	if routes := b.Status.Routes; routes != nil {
		view.Matching, view.Drained = routes.Matching, routes.Drained
		if alone := routes.WithoutAlternative; alone != nil {
			view.Alone, view.AloneNames = alone.Count, alone.Names
		}
	}
	return view
}
