// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// grace is the time that an API server may be unresponsive before users are notified: it may only be restarting.
const grace = 10 * time.Second

// health is what the responses to all requests of a session report about its cluster.
type health struct {
	clock clock.PassiveClock
	// changed is called when the response of failure may be another one.
	changed func()

	mu sync.Mutex
	// since is when the first request of an unbroken row failed; zero: the last one did not. The rest is of that one.
	since           time.Time
	reason, message string
	// denied are permissions that are missing, such as "list nodes".
	denied map[string]bool
}

// observe takes what became of a request.
func (h *health) observe(request *http.Request, response *http.Response, err error) {
	if h.note(request, response, err) {
		h.changed()
	}
}

func (h *health) note(request *http.Request, response *http.Response, err error) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	reason, message := failureOf(response, err)
	if reason != "" {
		changed = h.since.IsZero() || h.reason != reason
		if h.since.IsZero() {
			h.since = h.clock.Now()
		}
		if changed { // the details of one failure after the other are not news
			h.reason, h.message = reason, message
		}
		return changed
	}
	changed = !h.since.IsZero()
	h.since = time.Time{}
	right := rightOf(request)
	denied := right != "" && response.StatusCode == http.StatusForbidden
	if denied != h.denied[right] {
		changed = true
		if delete(h.denied, right); denied {
			if h.denied == nil {
				h.denied = map[string]bool{}
			}
			h.denied[right] = true
		}
	}
	return changed
}

// failureOf reports why a response is none, or "".
func failureOf(response *http.Response, err error) (reason, message string) {
	if err != nil {
		return ReasonUnreachable, fmt.Sprintf("no response from the API server of the workload cluster: %v", err)
	}
	switch code := response.StatusCode; code {
	case http.StatusUnauthorized:
		return ReasonForbidden, fmt.Sprintf("the API server of the workload cluster responds with status %d: "+
			"check the credentials of the cluster in the Secret", code)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ReasonUnreachable, fmt.Sprintf("the API server of the workload cluster responds with status %d", code)
	}
	return "", ""
}

// rightOf returns what a request needs permission to, if nothing can be done without it; "" for what can be done without.
func rightOf(request *http.Request) string {
	_, path, _ := strings.Cut(request.URL.Path, "/api/v1/")
	parts := strings.Split(path, "/")
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	if !slices.Contains([]string{"nodes", "persistentvolumes", "persistentvolumeclaims"}, parts[0]) {
		return ""
	}
	verb := strings.ToLower(request.Method) // of one object
	switch {
	case request.URL.Query().Get("watch") != "":
		verb = "watch"
	case len(parts) == 1:
		verb = "list"
	}
	return verb + " " + parts[0]
}

// failure is why the cluster cannot be managed, or "". It may become known later, at again, when nothing is reported yet.
func (h *health) failure() (reason, message string, again time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.since.IsZero() {
		if left := h.since.Add(grace).Sub(h.clock.Now()); left > 0 {
			return "", "", left
		}
		return h.reason, h.message, 0
	}
	if len(h.denied) > 0 {
		return ReasonForbidden, lacking(slices.Sorted(maps.Keys(h.denied))), 0
	}
	return "", "", 0
}

func lacking(permissions []string) string {
	return "the credentials of the cluster in the Secret lack the permission to " + strings.Join(permissions, ", ")
}
