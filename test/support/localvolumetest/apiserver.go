// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolumetest

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// APIServer is an HTTP server for the core group that supports lists, watches, gets, creations, deletions, and access reviews, in JSON
// and without streaming lists.
type APIServer struct {
	http *httptest.Server

	mu      sync.Mutex
	version int
	// objects are by resource, and by namespace/name.
	objects  map[string]map[string]map[string]any
	watchers map[chan event]string
	broken   int
	denied   map[string]bool
	requests []string
}

// event is an event of a watch.
type event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// kinds returns the resources that it has.
func kinds() map[string]string {
	return map[string]string{
		"nodes": "Node", "namespaces": "Namespace", "persistentvolumes": "PersistentVolume", "persistentvolumeclaims": "PersistentVolumeClaim",
		"configmaps": "ConfigMap", "events": "Event", "pods": "Pod",
	}
}

// NewAPIServer starts one that ends with the test.
func NewAPIServer(t *testing.T) *APIServer {
	t.Helper()
	s := &APIServer{objects: map[string]map[string]map[string]any{}, watchers: map[chan event]string{}, denied: map[string]bool{}}
	for resource := range kinds() {
		s.objects[resource] = map[string]map[string]any{}
	}
	s.http = httptest.NewUnstartedServer(s)
	s.http.EnableHTTP2 = true
	s.http.Config.ErrorLog = nil
	s.http.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// Close ends it and all connections.
func (s *APIServer) Close() {
	s.Disconnect()
	s.CloseClientConnections()
	s.http.Close()
}

// CloseClientConnections ends all connections.
func (s *APIServer) CloseClientConnections() { s.http.CloseClientConnections() }

// Kubeconfig leads to it, with a token.
func (s *APIServer) Kubeconfig(token string) []byte {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	text, err := yaml.Marshal(map[string]any{
		"kind": "Config", "apiVersion": "v1", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": s.http.URL, "certificate-authority-data": ca}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	if err != nil {
		panic(err) // text and maps can always be written
	}
	return text
}

// Config is how to connect.
func (s *APIServer) Config() *rest.Config {
	return &rest.Config{Host: s.http.URL, BearerToken: "t", TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw}),
	}}
}

// Break makes every request fail with a status; 0 ends that.
func (s *APIServer) Break(status int) {
	s.mu.Lock()
	s.broken = status
	s.mu.Unlock()
	if status != 0 {
		s.Disconnect()
	}
}

// Deny takes a right away, such as "list nodes", or gives it back.
func (s *APIServer) Deny(right string, denied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[right] = denied
}

// Disconnect ends all watches, as an API server does from time to time.
func (s *APIServer) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for watcher := range s.watchers {
		close(watcher)
		delete(s.watchers, watcher)
	}
}

// Watches returns the number of watches of a resource.
func (s *APIServer) Watches(resource string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, watched := range s.watchers {
		if watched == resource {
			n++
		}
	}
	return n
}

// Requests returns the requests since the last call, as "VERB resource token".
func (s *APIServer) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// Put creates or replaces an object, in JSON or YAML without apiVersion and kind.
func (s *APIServer) Put(resource, manifest string) {
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(resource, object)
}

func (s *APIServer) put(resource string, object map[string]any) {
	key := keyOf(object)
	kind, metadata := "ADDED", object["metadata"].(map[string]any)
	if before := s.objects[resource][key]; before != nil {
		kind, metadata["uid"] = "MODIFIED", before["metadata"].(map[string]any)["uid"]
	}
	s.version++
	metadata["resourceVersion"] = fmt.Sprint(s.version)
	if metadata["uid"] == nil {
		metadata["uid"] = fmt.Sprintf("uid-%d", s.version)
	}
	object["apiVersion"], object["kind"] = "v1", kinds()[resource]
	s.objects[resource][key] = object
	s.notify(resource, event{kind, object})
}

// Remove deletes an object; its name has the namespace before it, if it is in one. Silently sends no watch event.
func (s *APIServer) Remove(resource, name string, silently bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := s.objects[resource][name]
	if object == nil {
		return
	}
	delete(s.objects[resource], name)
	s.version++
	object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.version)
	if !silently {
		s.notify(resource, event{"DELETED", object})
	}
}

// Has reports whether an object is there.
func (s *APIServer) Has(resource, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[resource][name] != nil
}

func (s *APIServer) notify(resource string, e event) {
	for watcher, watched := range s.watchers {
		if watched == resource {
			watcher <- e
		}
	}
}

func keyOf(object map[string]any) string {
	metadata := object["metadata"].(map[string]any)
	if namespace, ok := metadata["namespace"].(string); ok && namespace != "" {
		return namespace + "/" + metadata["name"].(string)
	}
	return metadata["name"].(string)
}
