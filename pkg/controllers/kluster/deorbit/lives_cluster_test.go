// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// item is an object of a workload cluster, in JSON.
type item = map[string]any

// server is the API server of a workload cluster at the wire: it has what Deorbit reads, honors preconditions and finalizers, and rejects a
// claim once it is frozen.
type server struct {
	http *httptest.Server

	mu      sync.Mutex
	version int
	// items are by group and version, resource, namespace and name.
	items map[string]item
	// rejected are the objects whose deletion its admission rejects.
	rejected map[string]bool
	// status is that of all responses, 0 for the usual ones.
	status int
	// unfreezable is true if its admission rejects what would freeze it, and before is called for each request.
	unfreezable bool
	before      func(*http.Request)
}

// kindsOf are the resources of a workload cluster by their paths.
var kindsOf = map[string]string{
	"/api/v1/namespaces": "Namespace", "/api/v1/persistentvolumes": "PersistentVolume",
	"/api/v1/persistentvolumeclaims": "PersistentVolumeClaim",
	"/api/v1/pods":                   "Pod", "/api/v1/nodes": "Node", "/api/v1/services": "Service",
	"/apis/storage.k8s.io/v1/storageclasses": "StorageClass", "/apis/storage.k8s.io/v1/volumeattachments": "VolumeAttachment",
	"/apis/networking.k8s.io/v1/ingresses":                                    "Ingress",
	"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies":       "ValidatingAdmissionPolicy",
	"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
	"/apis/snapshot.storage.k8s.io/v1/volumesnapshots":                        "VolumeSnapshot",
	"/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses":                  "VolumeSnapshotClass",
	"/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents":                 "VolumeSnapshotContent",
}

const (
	claimsPath   = "/api/v1/persistentvolumeclaims"
	volumesPath  = "/api/v1/persistentvolumes"
	servicesPath = "/api/v1/services"
	shotsPath    = "/apis/snapshot.storage.k8s.io/v1/volumesnapshots"
	contentsPath = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
	freezePath   = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings//groundskeeper-deorbit"
)

// newAPIServer starts one that is reached through wrap.
func newAPIServer(t *testing.T, wrap func(http.Handler) http.Handler) *server {
	t.Helper()
	s := &server{items: map[string]item{}, rejected: map[string]bool{}}
	s.put("/api/v1/namespaces", "", metav1.NamespaceSystem, nil)
	s.items["/api/v1/namespaces//kube-system"]["metadata"].(item)["uid"] = string(otherUID)
	s.http = httptest.NewUnstartedServer(wrap(s))
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.http.StartTLS()
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// kubeconfig leads to the server.
func (s *server) kubeconfig(t *testing.T) []byte {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	text, err := yaml.Marshal(item{
		"kind": "Config", "apiVersion": "v1", "current-context": "c",
		"clusters": []any{item{"name": "c", "cluster": item{"server": s.http.URL, "certificate-authority-data": ca}}},
		"users":    []any{item{"name": "u", "user": item{"token": "t"}}},
		"contexts": []any{item{"name": "c", "context": item{"cluster": "c", "user": "u"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// put adds an object, whose uid is uid-<name>.
func (s *server) put(path, namespace, name string, fields item, finalizers ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	group := strings.TrimPrefix(strings.TrimPrefix(path[:strings.LastIndex(path, "/")], "/apis/"), "/api/")
	object := item{"apiVersion": group, "kind": kindsOf[path], "metadata": item{
		"namespace": namespace, "name": name, "uid": "uid-" + name, "resourceVersion": fmt.Sprint(s.version), "finalizers": finalizers}}
	for field, value := range fields {
		object[field] = value
	}
	s.items[path+"/"+namespace+"/"+name] = object
}

// each calls a function for the objects of a resource, in their order. It may change or drop them.
func (s *server) each(path string, do func(object item)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.keys(path) {
		do(s.items[key])
	}
}

func (s *server) keys(path string) (found []string) {
	for key := range s.items {
		if strings.HasPrefix(key, path+"/") {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// release drops finalizers of an object with the prefix, and the object when it is being deleted and none is left.
func (s *server) release(path string, object item, prefix string) {
	meta := object["metadata"].(item)
	finalizers, _ := meta["finalizers"].([]any)
	meta["finalizers"] = slices.DeleteFunc(slices.Clone(finalizers), func(f any) bool { return strings.HasPrefix(f.(string), prefix) })
	s.touch(object)
	if meta["deletionTimestamp"] != nil && len(meta["finalizers"].([]any)) == 0 {
		delete(s.items, path+"/"+textOf(object, "metadata", "namespace")+"/"+textOf(object, "metadata", "name"))
	}
}

// delete begins the deletion of an object, and ends it unless a finalizer holds it.
func (s *server) delete(path string, object item) {
	if meta := object["metadata"].(item); meta["deletionTimestamp"] == nil {
		meta["deletionTimestamp"] = epoch.Format(time.RFC3339)
	}
	s.release(path, object, "no finalizer")
}

func (s *server) touch(object item) {
	s.version++
	object["metadata"].(item)["resourceVersion"] = fmt.Sprint(s.version)
}

// textOf returns a text of an object, "" for none.
func textOf(object item, path ...string) string {
	for _, field := range path[:len(path)-1] {
		object, _ = object[field].(item)
	}
	text, _ := object[path[len(path)-1]].(string)
	return text
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.before != nil {
		s.before(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path, namespace, name := pathOf(r.URL.Path)
	key := path + "/" + namespace + "/" + name
	object := s.items[key]
	switch {
	case s.status != 0:
		s.reply(w, s.status, "Failed", "a fault of the test")
	case kindsOf[path] == "":
		s.discover(w, r.URL.Path)
	case r.Method == http.MethodPost && s.items[freezePath] != nil:
		s.reply(w, http.StatusForbidden, "Forbidden",
			"ValidatingAdmissionPolicy 'groundskeeper-deorbit' with binding 'groundskeeper-deorbit' denied request: frozen")
	case r.Method == http.MethodPost:
		s.write(w, item{"apiVersion": "v1", "kind": kindsOf[path], "metadata": item{"name": "dry"}})
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") == string(types.MergePatchType):
		patch := item{}
		if object == nil || json.Unmarshal(body, &patch) != nil ||
			textOf(patch, "metadata", "resourceVersion") != textOf(object, "metadata", "resourceVersion") {
			s.reply(w, http.StatusConflict, "Conflict", "it has changed")
			return
		}
		merge(object, patch)
		s.touch(object)
		s.write(w, object)
	case r.Method == http.MethodPatch && s.unfreezable:
		s.reply(w, http.StatusForbidden, "Forbidden", `admission webhook "guard.example" denied the request: no policies`)
	case r.Method == http.MethodPatch:
		applied := item{}
		if err := yaml.Unmarshal(body, &applied); err != nil {
			s.reply(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
		applied["metadata"].(item)["uid"] = "uid-" + name
		s.touch(applied)
		s.items[key] = applied
		s.write(w, applied)
	case r.Method == http.MethodGet && name == "":
		s.list(w, path)
	case object == nil:
		s.reply(w, http.StatusNotFound, "NotFound", name+" not found")
	case r.Method == http.MethodGet:
		s.write(w, object)
	case s.rejected[key]:
		s.reply(w, http.StatusForbidden, "Forbidden", `admission webhook "guard.example" denied the request: keep it`)
	default:
		var options metav1.DeleteOptions
		if json.Unmarshal(body, &options) != nil || options.Preconditions == nil ||
			string(*options.Preconditions.UID) != textOf(object, "metadata", "uid") ||
			options.Preconditions.ResourceVersion != nil && *options.Preconditions.ResourceVersion != textOf(object, "metadata", "resourceVersion") {
			s.reply(w, http.StatusConflict, "Conflict", "a precondition failed")
			return
		}
		s.delete(path, object)
		s.write(w, item{"apiVersion": "v1", "kind": "Status", "status": "Success"})
	}
}

// merge changes an object as a merge patch that removes nothing does.
func merge(object, patch item) {
	for field, value := range patch {
		inner, isItem := value.(item)
		if into, ok := object[field].(item); ok && isItem {
			merge(into, inner)
			continue
		}
		object[field] = value
	}
}

// pathOf splits the path of a request into the resource, the namespace and the name.
func pathOf(path string) (resource, namespace, name string) {
	parts, root := strings.Split(strings.Trim(path, "/"), "/"), 2
	if parts[0] == "apis" {
		root = 3
	}
	if len(parts) <= root {
		return "", "", ""
	}
	prefix, rest := strings.Join(parts[:root], "/"), parts[root:]
	if rest[0] == "namespaces" && len(rest) > 2 {
		namespace, rest = rest[1], rest[2:]
	}
	return "/" + prefix + "/" + rest[0], namespace, strings.Join(rest[1:], "/")
}

func (s *server) discover(w http.ResponseWriter, path string) {
	found := []any{}
	for resource := range kindsOf {
		if resource[:strings.LastIndex(resource, "/")] == path {
			found = append(found, item{"name": resource[len(path)+1:]})
		}
	}
	if len(found) == 0 {
		s.reply(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		return
	}
	s.write(w, item{"apiVersion": "v1", "kind": "APIResourceList", "resources": found})
}

func (s *server) list(w http.ResponseWriter, path string) {
	items := []any{}
	for _, key := range s.keys(path) {
		items = append(items, s.items[key])
	}
	group := strings.TrimPrefix(strings.TrimPrefix(path[:strings.LastIndex(path, "/")], "/apis/"), "/api/")
	s.write(w, item{"apiVersion": group, "kind": kindsOf[path] + "List",
		"metadata": item{"resourceVersion": fmt.Sprint(s.version)}, "items": items})
}

func (s *server) write(w http.ResponseWriter, object item) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object) // the client may be gone
}

func (s *server) reply(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(item{"apiVersion": "v1", "kind": "Status", "status": "Failure",
		"code": code, "reason": reason, "message": message})
}
