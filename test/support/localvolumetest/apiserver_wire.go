// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolumetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ServeHTTP implements http.Handler.
func (s *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	resource, name := parts[0], strings.TrimPrefix(namespace+"/"+strings.Join(parts[1:], "/"), "/")
	verb := map[string]string{http.MethodGet: "list", http.MethodDelete: "delete", http.MethodPost: "create", http.MethodPatch: "patch"}[r.Method]
	switch {
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case r.Method == http.MethodGet && len(parts) > 1:
		verb = "get"
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client closed the connection
	}
	s.mu.Lock()
	s.requests = append(s.requests, verb+" "+resource+" "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	broken, denied := s.broken, s.denied[verb+" "+resource]
	s.mu.Unlock()
	asMetadata := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	switch {
	case broken != 0:
		reject(w, broken, "Broken")
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		s.review(w, body)
	case s.objects[resource] == nil:
		reject(w, http.StatusNotFound, "NotFound")
	case denied:
		reject(w, http.StatusForbidden, "Forbidden")
	case r.URL.Query().Get("sendInitialEvents") != "":
		reject(w, http.StatusUnprocessableEntity, "Invalid")
	case verb == "watch":
		s.watch(w, r, resource, asMetadata)
	case verb == "list":
		s.list(w, resource, asMetadata)
	default:
		s.single(w, verb, resource, name, body)
	}
}

func (s *APIServer) list(w http.ResponseWriter, resource string, asMetadata bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := map[string]any{"apiVersion": "v1", "kind": kinds()[resource] + "List", "metadata": map[string]any{"resourceVersion": fmt.Sprint(s.version)}}
	items := []any{}
	for _, object := range s.objects[resource] {
		items = append(items, view(object, asMetadata))
	}
	if list["items"] = items; asMetadata {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	respond(w, http.StatusOK, list)
}

func view(object map[string]any, asMetadata bool) map[string]any {
	if !asMetadata {
		return object
	}
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]}
}

func (s *APIServer) watch(w http.ResponseWriter, r *http.Request, resource string, asMetadata bool) {
	watcher := make(chan event, 1000)
	s.mu.Lock()
	s.watchers[watcher] = resource
	expired := r.URL.Query().Get("resourceVersion") != fmt.Sprint(s.version)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, watcher)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	if expired { // it keeps no history
		_ = json.NewEncoder(w).Encode(event{"ERROR", status(http.StatusGone, "Expired")})
		return
	}
	flusher := w.(http.Flusher)
	flusher.Flush()
	for {
		select {
		case e, ok := <-watcher:
			if !ok {
				return
			}
			s.mu.Lock()
			text, err := json.Marshal(event{e.Type, view(e.Object.(map[string]any), asMetadata)})
			s.mu.Unlock()
			if err != nil {
				panic(err)
			}
			_, _ = w.Write(text)
			flusher.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// single is a request for one object.
func (s *APIServer) single(w http.ResponseWriter, verb, resource, name string, body []byte) {
	s.mu.Lock()
	object := s.objects[resource][name]
	s.mu.Unlock()
	switch {
	case verb == "create":
		respond(w, http.StatusCreated, map[string]any{"apiVersion": "v1", "kind": kinds()[resource], "metadata": map[string]any{"name": "created"}})
	case object == nil:
		reject(w, http.StatusNotFound, "NotFound")
	case verb == "delete":
		metadata := object["metadata"].(map[string]any)
		if required := preconditions(body); required == nil || string(*required.UID) != metadata["uid"] || *required.ResourceVersion != metadata["resourceVersion"] {
			reject(w, http.StatusConflict, "Conflict")
			return
		}
		s.Remove(resource, name, false)
		respond(w, http.StatusOK, status(http.StatusOK, ""))
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		respond(w, http.StatusOK, object)
	}
}

// preconditions returns those of a deletion, in protobuf; nil when they are not whole.
func preconditions(body []byte) *metav1.Preconditions {
	var options metav1.DeleteOptions
	var envelope runtime.Unknown
	text, _ := bytes.CutPrefix(body, []byte("k8s\x00"))
	if envelope.Unmarshal(text) != nil || options.Unmarshal(envelope.Raw) != nil {
		return nil
	}
	if p := options.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
		return p
	}
	return nil
}

// review responds what a client is allowed to do.
func (s *APIServer) review(w http.ResponseWriter, body []byte) {
	// The body is protobuf, in which the verb and the resource are plain text.
	allowed := true
	s.mu.Lock()
	for right, denied := range s.denied {
		verb, resource, _ := strings.Cut(right, " ")
		allowed = allowed && (!denied || !bytes.Contains(body, []byte(verb)) || !bytes.Contains(body, []byte(resource)))
	}
	s.mu.Unlock()
	respond(w, http.StatusCreated, map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "status": map[string]any{"allowed": allowed}})
}

func status(code int, reason string) map[string]any {
	text := "Failure"
	if code == http.StatusOK {
		text = "Success"
	}
	return map[string]any{"apiVersion": "v1", "kind": "Status", "status": text, "code": code, "reason": reason}
}

func reject(w http.ResponseWriter, code int, reason string) { respond(w, code, status(code, reason)) }

func respond(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client may have been deleted away
}
