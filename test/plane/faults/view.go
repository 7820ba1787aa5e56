// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// frozen is a view of a resource that does not follow its changes.
type frozen struct {
	// version is the resource version of the view.
	version string
	// ended is closed when the view is current again.
	ended chan struct{}
}

// Freeze keeps the present view of a resource: lists that may be served from a cache are of now, and events of later changes
// are held back. What guarantees the current state, reading one object or listing without a resource version, is current: no API
// server breaks that. version is that of the resource, as in "v1".
func (p *Proxy) Freeze(ctx context.Context, resource schema.GroupVersionResource) error {
	prefix := "/api/" + resource.Version
	if resource.Group != "" {
		prefix = "/apis/" + resource.Group + "/" + resource.Version
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.upstream.String()+prefix+"/"+resource.Resource+"?limit=1", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	response, err := p.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var list metav1.PartialObjectMetadataList
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("list %s: status %d, %w", resource.Resource, response.StatusCode, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.frozen[resource.GroupResource()]; before != nil {
		return fmt.Errorf("the view of %s is frozen already", resource.Resource)
	}
	p.frozen[resource.GroupResource()] = &frozen{version: list.ResourceVersion, ended: make(chan struct{})}
	return nil
}

// Thaw lets the held events pass, and the view be current again.
func (p *Proxy) Thaw(resource schema.GroupVersionResource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if view := p.frozen[resource.GroupResource()]; view != nil {
		close(view.ended)
		delete(p.frozen, resource.GroupResource())
	}
}

func (p *Proxy) viewOf(resource schema.GroupResource) *frozen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen[resource]
}

// rewrite makes a list that may come from a cache one of the frozen state. The returned status is not 0 for a request that the frozen
// state does not have: a watch that begins with a list, instead of which clients then list.
func (f *frozen) rewrite(info *request.RequestInfo, r *http.Request) (status int) {
	query := r.URL.Query()
	switch {
	case info.Verb == "watch" && query.Get("sendInitialEvents") == "true":
		return http.StatusUnprocessableEntity
	case info.Verb == "list" && query.Get("resourceVersion") == "0":
		query.Set("resourceVersion", f.version)
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
		r.URL.RawQuery = query.Encode()
	}
	return 0
}

// Event is an event of a watch.
type Event struct {
	// Type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	Type string
	// Object has the name, the version and the other metadata of the object.
	Object metav1.PartialObjectMetadata
}

// Drop lets events of a resource, for which match is true, never arrive. nil ends it.
func (p *Proxy) Drop(resource schema.GroupVersionResource, match func(Event) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops[resource.GroupResource()] = match
}

// stream passes the events of a watch, held back and dropped by the settings of that moment.
func (p *Proxy) stream(ctx context.Context, w http.ResponseWriter, resource schema.GroupResource, body io.Reader) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// All events are read immediately: an API server ends a watch whose client reads too slowly.
	events := make(chan json.RawMessage)
	go func() {
		defer close(events)
		forward(ctx, json.NewDecoder(body), events)
	}()
	controller := http.NewResponseController(w)
	_ = controller.Flush()
	for raw := range events {
		var event Event
		if err := json.Unmarshal(raw, &event); err != nil || !p.admit(ctx, resource, event) {
			continue
		}
		if _, err := w.Write(append(raw, '\n')); err != nil || controller.Flush() != nil {
			return
		}
	}
}

// forward sends what a decoder reads, however slowly it is received, until ctx is done or there is no more.
func forward(ctx context.Context, decoder *json.Decoder, to chan<- json.RawMessage) {
	read := make(chan json.RawMessage)
	go func() {
		defer close(read)
		for {
			var raw json.RawMessage
			if decoder.Decode(&raw) != nil {
				return
			}
			select {
			case read <- raw:
			case <-ctx.Done():
				return
			}
		}
	}()
	var waiting []json.RawMessage
	for read != nil || len(waiting) > 0 {
		var out chan<- json.RawMessage
		var next json.RawMessage
		if len(waiting) > 0 {
			out, next = to, waiting[0]
		}
		select {
		case raw, ok := <-read:
			if !ok {
				read = nil
				continue
			}
			waiting = append(waiting, raw)
		case out <- next:
			waiting = waiting[1:]
		case <-ctx.Done():
			return
		}
	}
}

// admit waits until an event may pass, and reports whether it does.
func (p *Proxy) admit(ctx context.Context, resource schema.GroupResource, event Event) bool {
	for {
		p.mu.Lock()
		view, drop := p.frozen[resource], p.drops[resource]
		p.mu.Unlock()
		if view == nil || !view.lacks(event) {
			return drop == nil || !drop(event)
		}
		select {
		case <-view.ended:
		case <-ctx.Done():
			return false
		}
	}
}

// lacks reports whether an event is of a change after the frozen state.
func (f *frozen) lacks(event Event) bool {
	if event.Type == "ERROR" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(event.Object.ResourceVersion, f.version)
	return err == nil && order > 0
}

// asJSON returns an Accept header without the binary encodings, which the proxy does not read.
func asJSON(accept string) string {
	if accept == "" {
		return "application/json"
	}
	return strings.NewReplacer("application/vnd.kubernetes.protobuf", "application/json", "application/cbor-seq", "application/json",
		"application/cbor", "application/json").Replace(accept)
}
