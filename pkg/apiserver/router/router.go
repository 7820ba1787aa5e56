// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package router remembers which route answers requests of one shape. The library's router (go-restful's CurlyRouter) compares
// each request with all routes of its group, and copies and sorts those that match: a twelfth of what a read of one object
// allocates.
package router

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
)

const (
	// most is how many shapes are remembered; beyond it all are forgotten. Clients choose some of what a shape is made of.
	most = 1000
	// longest is the size of the longest shape that is remembered.
	longest = 1 << 10
	// anything stands in a shape for a segment of the path that no route asks for.
	anything = "*"
)

// Remembering returns a router that answers as next does, which is asked once for all requests of one shape.
//
// A shape is the method, the headers Content-Type and Accept, and for each segment of the path what it is, where a route asks
// for that, or else only that there is one. A route may ask for more: by a pattern for a segment, by a verb behind a colon, or
// by a condition of its own. Next is asked each time then, and always when it has no route for a request.
func Remembering(next restful.RouteSelector) restful.RouteSelector {
	return &remembering{next: next}
}

type remembering struct {
	next restful.RouteSelector

	mu       sync.RWMutex
	services []*restful.WebService
	// asked are the segments that routes of the services ask for, nil when what is remembered would be wrong.
	asked map[string]bool
	known map[string]selection
}

// selection is an answer.
type selection struct {
	service *restful.WebService
	route   *restful.Route
}

// SelectRoute implements restful.RouteSelector.
func (r *remembering) SelectRoute(services []*restful.WebService, request *http.Request) (*restful.WebService, *restful.Route, error) {
	key, known, ok := r.recall(services, request)
	if ok {
		return known.service, known.route, nil
	}
	service, route, err := r.next.SelectRoute(services, request)
	if err == nil && key != "" {
		r.remember(services, key, selection{service, route})
	}
	return service, route, err
}

// recall returns what is known of requests of this shape. The key is empty when there is nothing to be remembered.
func (r *remembering) recall(services []*restful.WebService, request *http.Request) (key string, known selection, ok bool) {
	r.mu.RLock()
	if !slices.Equal(r.services, services) {
		r.mu.RUnlock()
		r.serve(services)
		r.mu.RLock()
	}
	defer r.mu.RUnlock()
	if r.asked == nil {
		return "", selection{}, false
	}
	var buffer [256]byte
	shape := appendShape(buffer[:0], request, r.asked)
	if len(shape) > longest {
		return "", selection{}, false
	}
	if known, ok = r.known[string(shape)]; ok {
		return "", known, true
	}
	return string(shape), selection{}, false
}

// serve forgets what was known of other services.
func (r *remembering) serve(services []*restful.WebService) {
	asked := segments(services)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.services, r.asked, r.known = slices.Clone(services), asked, map[string]selection{}
}

func (r *remembering) remember(services []*restful.WebService, key string, known selection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.services, services) {
		return
	}
	if len(r.known) >= most {
		clear(r.known)
	}
	r.known[key] = known
}

// segments are those that services and routes ask for by name; nil when one asks for more than names.
func segments(services []*restful.WebService) map[string]bool {
	asked := map[string]bool{}
	for _, service := range services {
		paths := []string{service.RootPath()}
		for _, route := range service.Routes() {
			if len(route.If) > 0 {
				return nil
			}
			paths = append(paths, route.Path)
		}
		for _, path := range paths {
			for segment := range strings.SplitSeq(path, "/") {
				parameter := strings.HasPrefix(segment, "{")
				remainder := parameter && strings.HasSuffix(segment, ":*}") // all that is left of a path
				if segment == anything || strings.Contains(segment, ":") && !remainder {
					return nil
				}
				if !parameter {
					asked[segment] = true
				}
			}
		}
	}
	return asked
}

// appendShape appends the shape of a request. Neither methods nor headers have line breaks.
func appendShape(shape []byte, request *http.Request, asked map[string]bool) []byte {
	shape = append(shape, request.Method...)
	for _, header := range []string{"Content-Type", "Accept"} {
		shape = append(append(shape, '\n'), request.Header.Get(header)...)
	}
	shape = append(shape, '\n')
	for segment := range strings.SplitSeq(request.URL.Path, "/") {
		if !asked[segment] {
			segment = anything
		}
		shape = append(append(shape, '/'), segment...)
	}
	return shape
}
